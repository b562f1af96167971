"""make_models.py FOLDER: writes small models of random weights, as transformers saves them and as GGUF files, with the
tokens ids.txt and what transformers computes of them in f32: logits.f32, (T, V) row by row in little-endian floats.

Weights are scaled so that logits spread over several units: zeros and tiny numbers would hide errors. A window of 4 is
shorter than the 12 tokens. Seeds are fixed; the folder tests/golden/foundation was made by this script.
"""
import json
import os
import shutil
import sys

import gguf
import numpy
import safetensors.torch
import PIL.Image
import tokenizers
import torch
import transformers as t

T = 12
SMALL = {'vocab_size': 131, 'hidden_size': 32, 'intermediate_size': 40, 'num_hidden_layers': 2,
         'num_attention_heads': 4, 'num_key_value_heads': 2, 'max_position_embeddings': 64, 'bos_token_id': 1,
         'eos_token_id': 2, 'pad_token_id': 0}
GEMMA = dict(SMALL, head_dim=12, sliding_window=4, query_pre_attn_scalar=24)
LLAMA3 = {'rope_type': 'llama3', 'rope_theta': 5e5, 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
          'original_max_position_embeddings': 16}
YARN = {'rope_type': 'yarn', 'rope_theta': 2e4, 'factor': 4.0, 'original_max_position_embeddings': 16}
LONGROPE = {'rope_type': 'longrope', 'rope_theta': 1e4, 'short_factor': [1.0, 1.5, 2.0, 2.5],
            'long_factor': [2.0, 3.0, 4.0, 5.0], 'original_max_position_embeddings': 8}

# name, config, dtype of the file
CASES = [
    ('llama', t.LlamaConfig(**SMALL, head_dim=12), 'float32'),
    ('llama3', t.LlamaConfig(**SMALL, rope_parameters=LLAMA3, tie_word_embeddings=True, attention_bias=True,
                             mlp_bias=True), 'bfloat16'),
    ('mistral', t.MistralConfig(**SMALL, sliding_window=4, rope_parameters=YARN), 'bfloat16'),
    ('qwen2', t.Qwen2Config(**SMALL, tie_word_embeddings=True), 'float16'),
    ('qwen3', t.Qwen3Config(**SMALL, head_dim=12), 'bfloat16'),
    ('smollm3', t.SmolLM3Config(**dict(SMALL, num_hidden_layers=4)), 'bfloat16'),
    ('mixtral', t.MixtralConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2), 'bfloat16'),
    ('qwen3moe', t.Qwen3MoeConfig(**SMALL, head_dim=12, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=32,
                                  norm_topk_prob=True), 'bfloat16'),
    ('gemma2', t.Gemma2Config(**GEMMA, attn_logit_softcapping=2.0, final_logit_softcapping=6.0), 'bfloat16'),
    ('gemma3', t.Gemma3TextConfig(**dict(GEMMA, num_hidden_layers=3, query_pre_attn_scalar=12),
                                     sliding_window_pattern=3), 'bfloat16'),
    ('phi3', t.Phi3Config(**SMALL, rope_parameters=LONGROPE, original_max_position_embeddings=8), 'bfloat16'),
    ('gpt2', t.GPT2Config(vocab_size=131, n_embd=32, n_layer=2, n_head=4, n_positions=32, bos_token_id=1,
                          eos_token_id=2), 'bfloat16'),
]

ENCODER = {'vocab_size': 131, 'hidden_size': 32, 'intermediate_size': 40, 'num_hidden_layers': 2,
           'num_attention_heads': 4, 'max_position_embeddings': 64, 'pad_token_id': 0}
ENCODERS = [
    ('bert', t.BertConfig(**ENCODER), 'bfloat16'),
    ('roberta', t.RobertaConfig(**dict(ENCODER, pad_token_id=1, type_vocab_size=1, hidden_act='relu')), 'bfloat16'),
    ('distilbert', t.DistilBertConfig(vocab_size=131, dim=32, hidden_dim=40, n_layers=2, n_heads=4,
                                      max_position_embeddings=64), 'float16'),
]


def spread(model):
    """Weights of matrices whose logits differ, norms that are not 1, biases that are not 0."""
    generator = torch.Generator().manual_seed(7)
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=generator)
        if weight.dim() > 1:
            # gpt-oss cuts the results of gate_up_proj at 7.
            large = 0.7 if 'gate_up_proj' in name and hasattr(model.config, 'swiglu_limit') else 0.25
            weight.data = noise * (0.5 if 'embed' in name or 'wte' in name or 'lm_head' in name else large)
        elif 'bias' in name:
            weight.data = 0.3 * noise
        else:
            weight.data = weight.data + 0.3 * noise


def logits_of(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].float().numpy().astype('<f4')


def save(folder, name, config, dtype):
    torch.manual_seed(1)
    where = os.path.join(folder, name)
    model = t.AutoModelForCausalLM.from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    spread(model)
    model.to(getattr(torch, dtype)).save_pretrained(where)
    model = t.AutoModelForCausalLM.from_pretrained(where, attn_implementation='eager', dtype=torch.float32).eval()
    ids = numpy.random.default_rng(len(name)).integers(3, 131, T).tolist()
    with open(os.path.join(where, 'ids.txt'), 'w') as file:
        file.write(' '.join(map(str, ids)) + '\n')
    logits = logits_of(model, ids)
    logits.tofile(os.path.join(where, 'logits.f32'))
    print('%-10s %8d bytes, logits of deviation %.2f' %
          (name, os.path.getsize(os.path.join(where, 'model.safetensors')), logits.std()))
    return model, ids, logits


def save_encoder(folder, name, config, dtype):
    """An encoder with its last features, (T, C) of T tokens: hidden.f32; types.txt: token types."""
    torch.manual_seed(1)
    where = os.path.join(folder, name)
    model = t.AutoModel.from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    spread(model)
    model.to(getattr(torch, dtype)).save_pretrained(where)
    model = t.AutoModel.from_pretrained(where, attn_implementation='eager', dtype=torch.float32).eval()
    ids = numpy.random.default_rng(len(name)).integers(3, 131, T).tolist()
    types = [0] * T if name != 'bert' else [0] * 5 + [1] * (T - 5)
    for file_name, values in ('ids', ids), ('types', types):
        with open(os.path.join(where, file_name + '.txt'), 'w') as file:
            file.write(' '.join(map(str, values)) + '\n')
    more = {'token_type_ids': torch.tensor([types])} if name == 'bert' else {}
    with torch.no_grad():
        hidden = model(torch.tensor([ids]), **more).last_hidden_state[0].float().numpy().astype('<f4')
    hidden.tofile(os.path.join(where, 'hidden.f32'))
    print('%-10s features of deviation %.2f' % (name, hidden.std()))


PICTURES = 2
VISION = {'hidden_size': 24, 'intermediate_size': 40, 'num_hidden_layers': 2, 'num_attention_heads': 3,
          'image_size': 20, 'patch_size': 6}
CLIP_TEXTS = [[1, 7, 50, 130, 0, 0], [1, 40, 50, 130, 50, 0], [1, 5, 99, 8, 130, 50]]


def save_vision(folder, name, model_class, config, dtype):
    """A model of pictures, with random pixels (2, 3, 20, 20) and its outputs: features, logits, or for CLIP vectors of
    pictures and of texts and the logits of both (texts, pictures)."""
    torch.manual_seed(1)
    where = os.path.join(folder, name)
    model = model_class(config).eval()
    spread(model)
    model.to(getattr(torch, dtype)).save_pretrained(where)
    model = model_class.from_pretrained(where, attn_implementation='eager', dtype=torch.float32).eval()
    pixels = torch.randn(PICTURES, 3, 20, 20, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        if isinstance(model, t.CLIPModel):
            out = model(input_ids=torch.tensor(CLIP_TEXTS), pixel_values=pixels)
            features = model.vision_model(pixel_values=pixels).last_hidden_state
            vectors = [model.visual_projection(model.vision_model(pixel_values=pixels).pooler_output),
                       model.text_projection(model.text_model(torch.tensor(CLIP_TEXTS)).pooler_output)]
            results = {'pictures': vectors[0], 'texts': vectors[1], 'hidden': features,
                       'logits': out.logits_per_text}
        else:
            out = model(pixel_values=pixels, output_hidden_states=True)
            results = {'logits': out.logits, 'hidden': model.vit(pixel_values=pixels).last_hidden_state}
    for file_name, value in dict(results, pixels=pixels).items():
        value.numpy().astype('<f4').tofile(os.path.join(where, file_name + '.f32'))
        print('%-10s %-10s %s of deviation %.2f' % (name, file_name, tuple(value.shape), value.std()))


# One size for both sides; a shorter side with a crop; old files' numbers with a crop above the picture's size.
PROCESSORS = [
    ('vit', t.ViTImageProcessorPil(size={'height': 20, 'width': 20}), {}),
    ('clip', t.CLIPImageProcessorPil(size={'shortest_edge': 24}, crop_size={'height': 20, 'width': 20}), {}),
    ('clip-old', t.CLIPImageProcessorPil(size={'shortest_edge': 15}, crop_size={'height': 20, 'width': 20}, resample=1),
     {'size': 15, 'crop_size': 20}),
]


def write_processors(folder):
    """preprocessor_config.json and what each makes of the picture photo.png: photo.f32."""
    y, x = numpy.mgrid[0:46, 0:67]
    noise = numpy.random.default_rng(5).integers(0, 60, (46, 67, 3))
    planes = [2 * x + y, 255 - 3 * y - x // 2, 128 + 90 * numpy.sin(x / 5) * numpy.cos(y / 7)]
    photo = numpy.clip(numpy.stack(planes, 2) + noise, 0, 255).astype('u1')
    PIL.Image.fromarray(photo).save(os.path.join(folder, 'photo.png'))
    for name, processor, changes in PROCESSORS:
        where = os.path.join(folder, name)
        processor.save_pretrained(where)
        with open(os.path.join(where, 'preprocessor_config.json')) as file:
            config = json.load(file)
        with open(os.path.join(where, 'preprocessor_config.json'), 'w') as file:
            json.dump(dict(config, **changes), file, indent=1)
        pixels = processor(PIL.Image.open(os.path.join(folder, 'photo.png')), return_tensors='np')['pixel_values']
        pixels.astype('<f4').tofile(os.path.join(where, 'photo.f32'))


TEXTS = ['a cat', 'The dog sat on a mat.', 'x', 'cats, dogs and many other animals of the old house', 'abc def', '',
         'a cab in a bag', 'one two three four', 'fed a bead', 'zzz?']


def write_tokenizer(where, begin, end):
    """A tokenizer of lower-case words and their letters, with these tokens around each text."""
    tokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '.', ','] + [c for c in 'abcdefghijklmnopqrstuvwxyz'] + [
        '##' + c for c in 'abcdefghijklmnopqrstuvwxyz']
    for old, new in (2, begin), (3, end):
        tokens[old], tokens[new] = tokens[new], tokens[old]
    form = tokenizers.Tokenizer(tokenizers.models.WordPiece({text: i for i, text in enumerate(tokens)},
                                                            unk_token='[UNK]'))
    form.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    form.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    form.post_processor = tokenizers.processors.TemplateProcessing(
        single='[CLS] $A [SEP]', pair='[CLS] $A [SEP] $B [SEP]', special_tokens=[('[CLS]', begin), ('[SEP]', end)])
    form.add_special_tokens(['[PAD]', '[UNK]', '[CLS]', '[SEP]'])
    form.save(os.path.join(where, 'tokenizer.json'))
    return form


def write_embedder(folder):
    """A sentence-transformers folder, with texts.txt and their unit vectors by mean pooling: vectors.f32."""
    where = os.path.join(folder, 'embed')
    sizes = dict(ENCODER, hidden_size=16, intermediate_size=24, vocab_size=64)
    config = t.BertConfig(**sizes)
    model = t.BertModel(config, add_pooling_layer=False).eval()
    spread(model)
    model.save_pretrained(where)
    form = write_tokenizer(where, 2, 3)
    modules = ['Transformer', 'Pooling', 'Normalize']
    for name, value in (('modules', [{'idx': i, 'name': str(i), 'path': '' if i == 0 else '%d_%s' % (i, m),
                                      'type': 'sentence_transformers.models.' + m} for i, m in enumerate(modules)]),
                        ('1_Pooling/config', {'word_embedding_dimension': 16, 'pooling_mode_cls_token': False,
                                              'pooling_mode_mean_tokens': True}),
                        ('sentence_bert_config', {'max_seq_length': 24, 'do_lower_case': False})):
        os.makedirs(os.path.dirname(os.path.join(where, name)), exist_ok=True)
        with open(os.path.join(where, name + '.json'), 'w') as file:
            json.dump(value, file)
    form.enable_truncation(24)
    vectors = []
    for text in TEXTS:
        with torch.no_grad():
            hidden = model(torch.tensor([form.encode(text).ids])).last_hidden_state[0]
        vectors.append(torch.nn.functional.normalize(hidden.mean(0), dim=0).numpy())
    numpy.stack(vectors).astype('<f4').tofile(os.path.join(where, 'vectors.f32'))
    with open(os.path.join(where, 'texts.txt'), 'w') as file:
        file.write('\n'.join(TEXTS) + '\n')


def write_clip_vectors(folder):
    """Texts' and photo.png's vectors by CLIP, the scale of its logits, and the photo's features by ViT."""
    where = os.path.join(folder, 'clip')
    form = write_tokenizer(where, 2, 50)
    form.enable_truncation(16)
    model = t.CLIPModel.from_pretrained(where, attn_implementation='eager', dtype=torch.float32).eval()
    vit = t.ViTForImageClassification.from_pretrained(os.path.join(folder, 'vit'), dtype=torch.float32).eval()
    photo = {name: torch.tensor(numpy.fromfile(os.path.join(folder, name, 'photo.f32'), '<f4').reshape(1, 3, 20, 20))
             for name in ('clip', 'vit')}
    with torch.no_grad():
        texts = [model.text_projection(model.text_model(torch.tensor([form.encode(text).ids])).pooler_output)[0]
                 for text in TEXTS]
        pooled = model.vision_model(pixel_values=photo['clip']).pooler_output
        vectors = torch.stack(texts + [model.visual_projection(pooled)[0]])
        scale = model.logit_scale.exp().reshape(1)
        features = vit.vit(pixel_values=photo['vit']).last_hidden_state[0]
    for name, file_name, value in (('clip', 'vectors', vectors), ('clip', 'scale', scale),
                                   ('vit', 'vectors', torch.stack([features[0], features.mean(0)]))):
        value.numpy().astype('<f4').tofile(os.path.join(folder, name, file_name + '.f32'))


def pairs(weight, heads):
    """Rows of halves as rows of pairs, as llama.cpp stores queries and keys."""
    rows = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
    return rows.swapaxes(1, 2).reshape(weight.shape)


NAMES = {'input_layernorm': 'attn_norm', 'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k',
         'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output', 'mlp.gate_proj': 'ffn_gate',
         'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down', 'self_attn.q_norm': 'attn_q_norm',
         'self_attn.k_norm': 'attn_k_norm', 'mlp.gate': 'ffn_gate_inp', 'mlp.experts.gate_proj': 'ffn_gate_exps',
         'mlp.router': 'ffn_gate_inp', 'self_attn.sinks': 'attn_sinks', 'mlp.experts.up_proj': 'ffn_up_exps',
         'mlp.experts.down_proj': 'ffn_down_exps'}


def gguf_name(name, gemma):
    name = name.removeprefix('model.')
    for whole, other in (('embed_tokens', 'token_embd'), ('norm', 'output_norm'), ('lm_head', 'output')):
        if name == whole + '.weight':
            return other + '.weight'
    _, layer, rest = name.split('.', 2)
    part, kind = rest.rsplit('.', 1) if 'experts' not in rest and 'sinks' not in rest else (rest, 'weight')
    if part.endswith('_bias'):
        part, kind = part.removesuffix('_bias'), 'bias'
    names = dict(NAMES, post_attention_layernorm='post_attention_norm' if gemma else 'ffn_norm',
                 pre_feedforward_layernorm='ffn_norm', post_feedforward_layernorm='post_ffw_norm')
    return 'blk.%s.%s.%s' % (layer, names[part], kind)


def write_gguf(folder, name, arch, model, ids, kind):
    """The same model as a GGUF file, whose matrices are in blocks of the kind; logits of the dequantised weights."""
    where = os.path.join(folder, name)
    os.makedirs(where, exist_ok=True)
    c, gemma = model.config, arch.startswith('gemma')
    writer = gguf.GGUFWriter(os.path.join(where, 'model.gguf'), arch)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    size = c.head_dim or c.hidden_size // c.num_attention_heads
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_vocab_size(c.vocab_size)
    rotary = c.rope_parameters.get('full_attention', c.rope_parameters)
    writer.add_rope_freq_base(rotary['rope_theta'])
    writer.add_rope_dimension_count(size)
    if gemma:
        writer.add_sliding_window(c.sliding_window)
        writer.add_sliding_window_pattern([kind == 'sliding_attention' for kind in c.layer_types])
    experts = getattr(c, 'num_local_experts', 0)
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(c.num_experts_per_tok)
    if getattr(c, 'moe_intermediate_size', 0):
        writer.add_expert_feed_forward_length(c.moe_intermediate_size)
    state = model.state_dict()
    parts, oss = [], arch == 'gpt-oss'
    if oss:
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rotary['factor'])
        writer.add_rope_scaling_orig_ctx_len(rotary['original_max_position_embeddings'])
        writer.add_expert_feed_forward_length(c.intermediate_size)
        writer.add_sliding_window(c.sliding_window)
    for weight_name, weight in state.items():
        if oss and 'experts.gate_up_proj' in weight_name:
            parts += [(weight_name.replace('gate_up', name), weight[..., first::2])
                      for first, name in enumerate(('gate', 'up'))]
        elif weight_name.endswith('experts.gate_up_proj'):
            halves = weight.chunk(2, dim=1)
            parts += [(weight_name.replace('gate_up', name), half) for name, half in zip(('gate', 'up'), halves)]
        else:
            parts.append((weight_name, weight))
    if oss:
        parts = [(name, weight.transpose(1, 2) if weight.dim() == 3 else weight) for name, weight in parts]
    for weight_name, weight in parts:
        if weight_name == 'lm_head.weight' and c.tie_word_embeddings:
            continue
        values = weight.float().numpy().copy()
        quantised = values.ndim > 1 and values.shape[-1] % 32 == 0 and '.mlp.gate.' not in weight_name and \
            'router' not in weight_name and 'bias' not in weight_name
        if quantised:
            blocks = gguf.quants.quantize(values, kind)
            values = gguf.quants.dequantize(blocks, kind)
            weight.copy_(torch.tensor(values))
        heads = {'q': c.num_attention_heads, 'k': c.num_key_value_heads}
        for letter, count in heads.items():
            if arch == 'llama' and 'self_attn.%s_proj' % letter in weight_name:
                values = pairs(values, count)
        if gemma and 'norm' in weight_name:
            values = values + 1
        if quantised:
            writer.add_tensor(gguf_name(weight_name, gemma or oss), gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(gguf_name(weight_name, gemma or oss), values)
    model.load_state_dict(state)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open(os.path.join(where, 'ids.txt'), 'w') as file:
        file.write(' '.join(map(str, ids)) + '\n')
    logits_of(model, ids).tofile(os.path.join(where, 'logits.f32'))


def packed(values):
    """Matrices as MXFP4 of folders: blocks, in which a byte has elements 2 b and 2 b + 1, and scales."""
    data = gguf.quants.quantize(values, gguf.GGMLQuantizationType.MXFP4)
    data = data.reshape(*values.shape[:-1], values.shape[-1] // 32, 17)
    elements = numpy.concatenate([data[..., 1:] & 15, data[..., 1:] >> 4], axis=-1)
    return torch.tensor(elements[..., ::2] | elements[..., 1::2] << 4), torch.tensor(data[..., 0].copy())


def save_gptoss(folder, model, ids):
    """gpt-oss as it is published, with experts in MXFP4, and as transformers saves it; transformers reads both."""
    state = {name: weight.to(torch.bfloat16) for name, weight in model.state_dict().items()}
    model.to(torch.bfloat16).save_pretrained(os.path.join(folder, 'gptoss-plain'))
    where = os.path.join(folder, 'gptoss')
    for name in [name for name in state if name.endswith('up_proj') or name.endswith('down_proj')]:
        weight = state.pop(name).float().transpose(1, 2).contiguous().numpy()
        state[name + '_blocks'], state[name + '_scales'] = packed(weight)
    safetensors.torch.save_file(state, os.path.join(where, 'model.safetensors'), {'format': 'pt'})
    path = os.path.join(where, 'config.json')
    with open(path) as file:
        config = json.load(file)
    config['dtype'] = 'bfloat16'
    config['quantization_config'] = {'quant_method': 'mxfp4', 'modules_to_not_convert': [
        'model.layers.*.self_attn', 'model.layers.*.mlp.router', 'model.embed_tokens', 'lm_head']}
    with open(path, 'w') as file:
        json.dump(config, file, indent=2)
    for name in 'gptoss', 'gptoss-plain':
        where = os.path.join(folder, name)
        more = {'quantization_config': t.Mxfp4Config(dequantize=True)} if name == 'gptoss' else {}
        model = t.AutoModelForCausalLM.from_pretrained(where, attn_implementation='eager', dtype=torch.float32, **more)
        logits_of(model.eval(), ids).tofile(os.path.join(where, 'logits.f32'))
        greedy = list(ids)
        for _ in range(T):
            greedy.append(int(logits_of(model, greedy)[-1].argmax()))
        with open(os.path.join(where, 'ids.txt'), 'w') as file:
            file.write(' '.join(map(str, ids)) + '\n')
        with open(os.path.join(where, 'greedy.txt'), 'w') as file:
            file.write(' '.join(map(str, greedy[len(ids):])) + '\n')


BERT_NAMES = {'attention.self.query': 'attn_q', 'attention.self.key': 'attn_k', 'attention.self.value': 'attn_v',
              'attention.output.dense': 'attn_output', 'attention.output.LayerNorm': 'attn_output_norm',
              'intermediate.dense': 'ffn_up', 'output.dense': 'ffn_down', 'output.LayerNorm': 'layer_output_norm',
              'embeddings.word_embeddings': 'token_embd', 'embeddings.position_embeddings': 'position_embd',
              'embeddings.token_type_embeddings': 'token_types', 'embeddings.LayerNorm': 'token_embd_norm'}


def write_bert_gguf(folder):
    """The model "embed" as llama.cpp stores it, with its WordPiece vocabulary."""
    model = t.BertModel.from_pretrained(os.path.join(folder, 'embed'), add_pooling_layer=False)
    write_bert_file(folder, 'embed-gguf', model, None)


def write_bert_blocks(folder):
    """A wider model whose matrices are blocks, and the vectors of the dequantised weights."""
    sizes = dict(ENCODER, hidden_size=32, intermediate_size=64, vocab_size=64)
    model = t.BertModel(t.BertConfig(**sizes), add_pooling_layer=False).eval()
    spread(model)
    write_bert_file(folder, 'embed-q8', model, gguf.GGMLQuantizationType.Q8_0)
    form = tokenizers.Tokenizer.from_file(os.path.join(folder, 'embed', 'tokenizer.json'))
    form.enable_truncation(24)
    with torch.no_grad():
        vectors = [torch.nn.functional.normalize(model(torch.tensor([form.encode(text).ids])).last_hidden_state[0]
                                                 .mean(0), dim=0).numpy() for text in TEXTS]
    numpy.stack(vectors).astype('<f4').tofile(os.path.join(folder, 'embed-q8', 'vectors.f32'))


def write_bert_file(folder, name, model, kind):
    """kind: of matrices, which the model has dequantised from now on; None: f32."""
    source, where = os.path.join(folder, 'embed'), os.path.join(folder, name)
    os.makedirs(where, exist_ok=True)
    c, blocks = model.config, kind
    writer = gguf.GGUFWriter(os.path.join(where, 'model.gguf'), 'bert')
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_layer_norm_eps(c.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    with open(os.path.join(source, 'tokenizer.json')) as file:
        vocabulary = json.load(file)['model']['vocab']
    words = sorted(vocabulary, key=vocabulary.get)
    words += ['[PAD%d]' % i for i in range(len(words), c.vocab_size)]
    special = {'[PAD]', '[CLS]', '[SEP]'}
    types = [3 if word in special else 2 if word == '[UNK]' else 5 if word.startswith('[PAD') else 1 for word in words]
    words = [word if word[0] == '[' else word[2:] if word.startswith('##') else chr(0x2581) + word for word in words]
    writer.add_tokenizer_model('bert')
    writer.add_token_list(words)
    writer.add_token_types(types)
    writer.add_token_type_count(c.type_vocab_size)
    writer.add_unk_token_id(1)
    writer.add_pad_token_id(0)
    writer.add_bos_token_id(2)
    writer.add_sep_token_id(3)
    for name, weight in model.state_dict().items():
        if name.endswith('position_ids'):
            continue
        part, kind = name.rsplit('.', 1)
        prefix = ''
        if part.startswith('encoder.layer.'):
            _, _, layer, part = part.split('.', 3)
            prefix = 'blk.%s.' % layer
        values = weight.float().numpy()
        if blocks and values.ndim == 2 and 'position' not in part and 'token_type' not in part:
            packed = gguf.quants.quantize(values, blocks)
            weight.copy_(torch.tensor(gguf.quants.dequantize(packed, blocks)))
            writer.add_tensor(prefix + BERT_NAMES[part] + '.' + kind, packed, raw_dtype=blocks)
        else:
            writer.add_tensor(prefix + BERT_NAMES[part] + '.' + kind, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


TEMPLATE = """{% for m in messages %}<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}\
{% if add_generation_prompt %}<|im_start|>assistant: {% endif %}"""


def write_chat(folder):
    """A model with a tokenizer of single characters and a chat template; it answers with random letters."""
    where = os.path.join(folder, 'chat')
    sizes = dict(SMALL, hidden_size=16, intermediate_size=24, max_position_embeddings=512)
    model = t.LlamaForCausalLM(t.LlamaConfig(**sizes, tie_word_embeddings=True))
    spread(model)
    model.to(torch.bfloat16).save_pretrained(where)
    special = ['<unk>', '<|im_start|>', '<|im_end|>']
    tokens = special + [chr(c) for c in range(32, 127)]
    added = [{'id': i, 'content': text, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False,
              'special': True} for i, text in enumerate(special)]
    form = {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': added, 'normalizer': None,
            'pre_tokenizer': None, 'post_processor': None, 'decoder': {'type': 'Fuse'},
            'model': {'type': 'BPE', 'dropout': None, 'unk_token': '<unk>', 'continuing_subword_prefix': None,
                      'end_of_word_suffix': None, 'fuse_unk': False, 'byte_fallback': False, 'ignore_merges': False,
                      'vocab': {text: i for i, text in enumerate(tokens)}, 'merges': []}}
    with open(os.path.join(where, 'tokenizer.json'), 'w') as file:
        json.dump(form, file)
    with open(os.path.join(where, 'chat_template.jinja'), 'w') as file:
        file.write(TEMPLATE)


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    made = {name: save(folder, name, config, dtype) for name, config, dtype in CASES}
    for case in ENCODERS:
        save_encoder(folder, *case)
    save_vision(folder, 'vit', t.ViTForImageClassification, t.ViTConfig(**VISION, num_labels=5), 'bfloat16')
    for name, end in ('clip', 50), ('clip-old', 2):
        text = dict(vocab_size=131, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                    max_position_embeddings=16, eos_token_id=end, bos_token_id=1, pad_token_id=0)
        save_vision(folder, name, t.CLIPModel, t.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=12),
                    'bfloat16')
    write_processors(folder)
    write_embedder(folder)
    write_clip_vectors(folder)
    write_bert_gguf(folder)
    write_bert_blocks(folder)
    kinds = gguf.GGMLQuantizationType
    write_gguf(folder, 'llama-gguf', 'llama', *made['llama'][:2], kinds.Q8_0)
    write_gguf(folder, 'mixtral-gguf', 'llama', *made['mixtral'][:2], kinds.Q8_0)
    write_gguf(folder, 'qwen3moe-gguf', 'qwen3moe', *made['qwen3moe'][:2], kinds.Q4_1)
    oss = t.GptOssConfig(**dict(SMALL, intermediate_size=32), head_dim=12, num_local_experts=5, num_experts_per_tok=2,
                         sliding_window=4, rope_parameters=dict(YARN, truncate=False, beta_fast=32.0, beta_slow=1.0))
    model, ids, _ = save(folder, 'gptoss', oss, 'float32')
    write_gguf(folder, 'gptoss-gguf', 'gpt-oss', model, ids, kinds.MXFP4)
    save_gptoss(folder, model, ids)
    write_gguf(folder, 'qwen3-gguf', 'qwen3', *made['qwen3'][:2], kinds.Q4_1)
    write_gguf(folder, 'gemma3-gguf', 'gemma3', *made['gemma3'][:2], kinds.F16)
    write_chat(folder)
    for root, _, files in os.walk(folder):
        for file in files:
            if file not in ('config.json', 'model.safetensors', 'model.gguf', 'ids.txt', 'logits.f32', 'tokenizer.json',
                            'types.txt', 'hidden.f32', 'modules.json', 'sentence_bert_config.json', 'texts.txt',
                            'vectors.f32', 'chat_template.jinja', 'pixels.f32', 'pictures.f32', 'texts.f32',
                            'photo.png', 'photo.f32', 'greedy.txt', 'preprocessor_config.json', 'scale.f32'):
                os.remove(os.path.join(root, file))


main()
