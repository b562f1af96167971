"""lora_oracle.py write FOLDER: writes with gguf a small Llama with a byte vocabulary, model.gguf, and an adapter of it
as llama.cpp's convert_lora_to_gguf.py lays it out, theirs.gguf. Seeds are fixed.

lora_oracle.py compare FOLDER LOGITS ADAPTER: the distance of llama.cpp's probabilities of the next token after IDS,
with the adapter ("-": none), from those of a file of f32 logits.
"""
import os
import sys

import numpy

TEXT = 'Name-3-colours-of-a-rainbow'
IDS = [1] + [3 + byte for byte in TEXT.encode()]
WIDTH, HIDDEN, HEADS, GROUPS, LAYERS, TOKENS, RANK, ALPHA = 64, 96, 4, 2, 3, 259, 4, 6.0
HEAD = WIDTH // HEADS
MATRICES = {'attn_q': (WIDTH, WIDTH), 'attn_k': (GROUPS * HEAD, WIDTH), 'attn_v': (GROUPS * HEAD, WIDTH),
            'attn_output': (WIDTH, WIDTH), 'ffn_gate': (HIDDEN, WIDTH), 'ffn_up': (HIDDEN, WIDTH),
            'ffn_down': (WIDTH, HIDDEN)}


def write(folder):
    import gguf
    random = numpy.random.default_rng(5)

    def normal(*shape, scale=0.15):
        return (scale * random.standard_normal(shape)).astype(numpy.float32)

    w = gguf.GGUFWriter(os.path.join(folder, 'model.gguf'), 'llama')
    w.add_context_length(128)
    w.add_embedding_length(WIDTH)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(HIDDEN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(GROUPS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(HEAD)
    w.add_rope_freq_base(10000.0)
    w.add_vocab_size(TOKENS)
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    w.add_tokenizer_model('llama')
    w.add_token_list(['<unk>', '<s>', '</s>'] + ['<0x%02X>' % byte for byte in range(256)])
    w.add_token_scores([0.0] * TOKENS)
    w.add_token_types([2, 3, 3] + [6] * 256)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_add_bos_token(True)
    w.add_add_space_prefix(False)
    w.add_chat_template('{% for message in messages %}{{ message.content }}{% endfor %}')
    w.add_tensor('token_embd.weight', normal(TOKENS, WIDTH, scale=1))
    w.add_tensor('output_norm.weight', 1 + normal(WIDTH))
    w.add_tensor('output.weight', normal(TOKENS, WIDTH))
    a = gguf.GGUFWriter(os.path.join(folder, 'theirs.gguf'), 'llama')
    a.add_type(gguf.GGUFType.ADAPTER)
    a.add_string(gguf.Keys.Adapter.TYPE, 'lora')
    a.add_float32(gguf.Keys.Adapter.LORA_ALPHA, ALPHA)
    for layer in range(LAYERS):
        w.add_tensor('blk.%d.attn_norm.weight' % layer, 1 + normal(WIDTH))
        w.add_tensor('blk.%d.ffn_norm.weight' % layer, 1 + normal(WIDTH))
        for name, (outputs, inputs) in MATRICES.items():
            module = 'blk.%d.%s.weight' % (layer, name)
            w.add_tensor(module, normal(outputs, inputs))
            a.add_tensor(module + '.lora_a', normal(RANK, inputs))
            a.add_tensor(module + '.lora_b', normal(outputs, RANK))
    for writer in w, a:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    print(*IDS)


def log_probabilities(folder, adapter):
    import xllamacpp
    p = xllamacpp.CommonParams()
    p.model.path = os.path.join(folder, 'model.gguf')
    p.n_ctx, p.n_parallel, p.warmup, p.verbosity, p.use_jinja = 128, 1, False, -1, True
    p.cache_type_k = p.cache_type_v = 0  # f32
    p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    if adapter != '-':
        lora = xllamacpp.CommonAdapterLoraInfo()
        lora.path, lora.scale = adapter, 1.0
        p.lora_adapters = [lora]
    reply = xllamacpp.Server(p).handle_chat_completions(
        {'messages': [{'role': 'user', 'content': TEXT}], 'max_tokens': 1, 'logprobs': True, 'top_logprobs': TOKENS,
         'temperature': 0})
    assert reply['usage']['prompt_tokens'] == len(IDS), reply['usage']
    rows = reply['choices'][0]['logprobs']['content'][0]['top_logprobs']
    log_p = numpy.full(TOKENS, -numpy.inf)
    for row in rows:
        log_p[row['id']] = row['logprob']
    return log_p


def compare(folder, path, adapter):
    z = numpy.fromfile(path, '<f4').astype(numpy.float64)
    z -= z.max()
    ours = z - numpy.log(numpy.exp(z).sum())
    theirs = log_probabilities(folder, adapter)
    assert numpy.isfinite(theirs).all(), 'llama.cpp gave %d tokens' % numpy.isfinite(theirs).sum()
    distance = abs(ours - theirs).max()
    divergence = (numpy.exp(theirs) * (theirs - ours)).sum()
    print('%s: log probabilities differ by %.2g at most, divergence %.2g' %
          (os.path.basename(adapter), distance, divergence))
    assert distance < 1e-4 and abs(divergence) < 1e-5


if sys.argv[1] == 'write':
    write(sys.argv[2])
else:
    compare(*sys.argv[2:])
