"""30 s of speech, noise and silence, and what onnxruntime's voice detector makes of it, window by window."""
import glob
import os
import sys
import wave

import numpy as np
import onnxruntime

folder = sys.argv[1]
parts = []
for path in sorted(glob.glob(os.environ["MICA_TEST_DATA"] + "/data/speech_yes_no/*.wav")):
    with wave.open(path) as sound:
        assert sound.getframerate() == 16000 and sound.getsampwidth() == 2
        parts.append(np.frombuffer(sound.readframes(sound.getnframes()), np.int16).astype(np.float32) / 32768)
sound = np.concatenate(parts)
sound = np.tile(sound, 30 * 16000 // len(sound) + 1)[:30 * 16000 // 512 * 512]
session = onnxruntime.InferenceSession(os.environ["MICA_TEST_DATA"] + "/onnx/models/silero_vad_16k_op15/model.onnx",
                                       providers=["CPUExecutionProvider"])
state, voice = np.zeros((2, 1, 128), np.float32), []
for window in sound.reshape(-1, 1, 512):
    y, state = session.run(None, {"input": window, "state": state, "sr": np.array(16000, np.int64)})
    voice.append(y.item())
for name, value in (("sound", sound), ("voice", voice), ("state", state)):
    np.save(f"{folder}/{name}.npy", np.asarray(value, np.float32))
