"""vocabulary_oracle.py LIBRARY TEXTS GGUF...: compares the ids of Mica's tokenisers of GGUF files with the ids that
transformers gives, and the texts that come back. TEXTS is texts.tsv of the golden tokenisers. transformers does not
know every kind of "tokenizer.ggml.pre": in files of those kinds each digit is cut out first, as the models' own
tokenisers do."""
import ctypes
import os
import sys
import time

from gguf import GGUFReader
from tokenizers import pre_tokenizers
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_TOKENIZER_MAPPING, convert_gguf_tokenizer

ALONE = {'smollm', 'starcoder', 'refact', 'command-r'}  # kinds with digits that transformers does not know


class Encoding(ctypes.Structure):
    _fields_ = [('ids', ctypes.POINTER(ctypes.c_int32)), ('types', ctypes.c_void_p), ('count', ctypes.c_size_t),
                ('capacity', ctypes.c_size_t), ('work', ctypes.c_void_p)]


class Config(ctypes.Structure):
    _fields_ = [('special', ctypes.c_bool), ('second', ctypes.c_char_p), ('second_bytes', ctypes.c_size_t)]


class Mica:
    def __init__(self, library, path):
        self.c = ctypes.CDLL(library)
        self.c.mica_error_message.restype = ctypes.c_char_p
        self.tokenizer, self.encoding = ctypes.c_void_p(), Encoding()
        if self.c.mica_tokenizer_open(path.encode(), ctypes.byref(self.tokenizer)):
            raise ValueError(self.c.mica_error_message().decode())

    def encode(self, text, special):
        data, config = text.encode(), Config(special)
        if self.c.mica_tokenizer_encode(self.tokenizer, data, ctypes.c_size_t(len(data)), ctypes.byref(config),
                                        ctypes.byref(self.encoding)):
            raise ValueError(self.c.mica_error_message().decode())
        return self.encoding.ids[:self.encoding.count]

    def decode(self, ids, skip):
        text, size, array = ctypes.c_void_p(), ctypes.c_size_t(), (ctypes.c_int32 * len(ids))(*ids)
        if self.c.mica_tokenizer_decode(self.tokenizer, array, ctypes.c_size_t(len(ids)), ctypes.c_bool(skip),
                                        ctypes.byref(text), ctypes.byref(size)):
            raise ValueError(self.c.mica_error_message().decode())
        result = ctypes.string_at(text, size.value).decode(errors='replace')
        self.c.mica_free(text)
        return result


def read_keys(path):
    """What get_gguf_tokenizer gives, without PyTorch."""
    reader = GGUFReader(path)
    keys = {key: field.contents() for key, field in reader.fields.items() if key.startswith('tokenizer.')}
    names = GGUF_TOKENIZER_MAPPING['tokenizer'].items()
    return (reader.fields['general.architecture'].contents(), keys,
            {name: keys[f'tokenizer.{key}'] for key, name in names if f'tokenizer.{key}' in keys})


def main():
    library, texts, *files = sys.argv[1:]
    with open(texts, encoding='ascii') as file:
        rows = [line.rsplit('\t', 1)[-1].strip() for line in list(file)[1:]]
    texts = [bytes.fromhex(row) for row in rows]
    texts = [text.decode() for text in texts if text.decode(errors='ignore').encode() == text]
    wrong = 0
    for path in files:
        begin = time.time()
        mine = Mica(library, path)
        opened = time.time() - begin
        architecture, keys, about = read_keys(path)
        kind, backend = about.get('pre_tokenizer_type'), convert_gguf_tokenizer(architecture, about)[0]
        bos = [keys['tokenizer.ggml.bos_token_id']] if keys.get('tokenizer.ggml.add_bos_token') else []
        if kind in ALONE:
            backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                             pre_tokenizers.ByteLevel(add_prefix_space=False)])
        faults = 0
        begin = time.time()
        expected = [bos + backend.encode(text, add_special_tokens=False).ids for text in texts]
        their_time = time.time() - begin
        begin = time.time()
        got = [mine.encode(text, True) for text in texts]
        my_time = time.time() - begin
        for text, a, b in zip(texts, got, expected):
            back = mine.decode(a, True), backend.decode(b, skip_special_tokens=True)
            if a != b or back[0] != back[1]:
                faults += 1
                if faults <= 5:
                    print(f'{text[:60]!r}\n  mica   {a[:20]} {back[0][:60]!r}\n  theirs {b[:20]} {back[1][:60]!r}')
        print(f'{os.path.basename(path)}: {len(texts) - faults} of {len(texts)} texts alike; opened in {opened:.2f} s; '
              f'mica {my_time:.2f} s with ctypes, tokenizers {their_time:.2f} s')
        wrong += faults
    sys.exit(1 if wrong else 0)


main()
