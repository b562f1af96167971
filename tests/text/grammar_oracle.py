"""grammar_oracle.py LIBRARY SCHEMAS [VOCABULARY.gguf]: random walks through the masks of schemas, whose texts
jsonschema must find valid; then masks along walks beside llguidance's, for schemas that both read alike. Prints what
differs and a row of figures."""
import ctypes as c
import datetime
import ipaddress
import json
import random
import re
import sys
import uuid

import jsonschema

lib = c.CDLL(sys.argv[1])
lib.mica_error_message.restype = c.c_char_p
lib.mica_grammar_may_end.restype = c.c_bool
lib.mica_grammar_mask_words.restype = c.c_size_t
lib.mica_tokenizer_json.restype = c.c_void_p


class Config(c.Structure):
    _fields_ = [('ends', c.POINTER(c.c_int32)), ('end_count', c.c_size_t), ('blanks', c.c_int)]


def must(status):
    if status:
        raise ValueError(lib.mica_error_message().decode())


class Grammar:
    def __init__(self, schema, tokenizer=None, blanks=0, ends=()):
        self.g = c.c_void_p()
        data = json.dumps(schema).encode()
        config = Config((c.c_int32 * len(ends))(*ends), len(ends), blanks)
        must(lib.mica_grammar_create_schema(data, c.c_size_t(len(data)), tokenizer, c.byref(config), c.byref(self.g)))
        self.words = lib.mica_grammar_mask_words(self.g)
        self.mask_words = (c.c_uint32 * self.words)()

    def mask(self):
        must(lib.mica_grammar_mask(self.g, self.mask_words))
        return int.from_bytes(bytes(self.mask_words), 'little')

    def accept(self, token):
        must(lib.mica_grammar_accept(self.g, token))

    def may_end(self):
        return lib.mica_grammar_may_end(self.g)

    def reset(self):
        lib.mica_grammar_reset(self.g)

    def __del__(self):
        lib.mica_grammar_destroy(self.g)


def bits(mask):
    text = bin(mask)[:1:-1]
    return [i for i, b in enumerate(text) if b == '1']


checker = jsonschema.FormatChecker(formats=())
checker.checks('date', ValueError)(lambda t: not isinstance(t, str) or bool(datetime.date.fromisoformat(t)))
checker.checks('date-time', ValueError)(
    lambda t: not isinstance(t, str) or bool(datetime.datetime.fromisoformat(re.sub(r'(\.\d{1,6})\d*', r'\1', t))))
checker.checks('time', ValueError)(
    lambda t: not isinstance(t, str) or bool(datetime.time.fromisoformat(re.sub(r'(\.\d{1,6})\d*', r'\1', t))) or True)
checker.checks('uuid', ValueError)(lambda t: not isinstance(t, str) or bool(uuid.UUID(t)) or True)
checker.checks('ipv4', ValueError)(lambda t: not isinstance(t, str) or bool(ipaddress.IPv4Address(t)))
checker.checks('ipv6', ValueError)(lambda t: not isinstance(t, str) or bool(ipaddress.IPv6Address(t)))


def walk(grammar, draw, text_of):
    """Tokens of a random walk that ends soon after 60 of them."""
    tokens, quoted, escaped = [], False, False
    grammar.reset()
    while True:
        ending = len(tokens) > 60
        if grammar.may_end() and (ending or draw.random() < 0.2):
            return tokens
        allowed = bits(grammar.mask())
        if not allowed:
            return tokens
        token = draw.choice(allowed)
        if ending:
            closing = '"' if quoted else '}]ntf,0123456789"'
            token = next((t for ch in closing for t in (single.get(ch),) if t in allowed), token)
        grammar.accept(token)
        for ch in text_of(token):
            if quoted and not escaped and ch == 0x5c:
                escaped = True
                continue
            if ch == 0x22 and not escaped:
                quoted = not quoted
            escaped = False
        tokens.append(token)
        assert len(tokens) < 5000, b''.join(map(text_of, tokens))


def check_walks(schemas):
    walks = bad = 0
    for number, schema in enumerate(schemas):
        draw = random.Random(number)
        grammar = Grammar(schema)
        validator = jsonschema.Draft202012Validator(schema, format_checker=checker)
        if re.search('"(definitions|items": \\[)', json.dumps(schema)):
            validator = jsonschema.Draft7Validator(schema, format_checker=checker)
        for _ in range(50):
            text = bytes(walk(grammar, draw, lambda t: bytes([t])))
            walks += 1
            try:
                validator.validate(json.loads(text))
            except Exception as error:
                bad += 1
                print(json.dumps(schema), text, str(error).splitlines()[0])
    print(f'jsonschema: {len(schemas)} schemas, {walks} walks, {bad} not valid')
    return bad


# Schemas that llguidance reads as Mica does: it has other rules for keys that a schema does not name (any escapes), for
# "-0", for trailing zeros of numbers with bounds, and for "pattern" beside lengths.
alike = [
    {'type': 'string'}, {'type': 'integer'}, {'type': 'number'}, {'type': 'boolean'}, {'type': ['string', 'null']},
    {'enum': ['red', 'green', 'blue', 1, None, 'gr']}, {'type': 'string', 'minLength': 3, 'maxLength': 5},
    {'type': 'string', 'maxLength': 12}, {'type': 'string', 'pattern': '^[a-z]{2,4}-[0-9]+$'},
    {'type': 'string', 'pattern': '^(foo|bar)*$'}, {'type': 'integer', 'minimum': 0, 'maximum': 230},
    {'type': 'integer', 'minimum': 100, 'maximum': 1001}, {'type': 'array', 'items': {'type': 'integer'}},
    {'type': 'array', 'items': {'type': 'string'}, 'minItems': 2, 'maxItems': 4},
    {'type': 'array', 'prefixItems': [{'type': 'string'}, {'type': 'boolean'}], 'items': {'type': 'null'}},
    {'type': 'object', 'properties': {'name': {'type': 'string'}, 'age': {'type': 'integer', 'minimum': 0}},
     'required': ['name', 'age'], 'additionalProperties': False},
    {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'b': {'type': 'string'}, 'ab': {'type': 'boolean'}},
     'required': ['b'], 'additionalProperties': False},
    {'anyOf': [{'type': 'string', 'maxLength': 4}, {'type': 'integer', 'minimum': 10, 'maximum': 99},
               {'type': 'array', 'items': {'type': 'null'}}]},
    {'$defs': {'node': {'type': 'object', 'properties': {'value': {'type': 'integer'}, 'next': {
        'anyOf': [{'$ref': '#/$defs/node'}, {'type': 'null'}]}}, 'required': ['value', 'next'],
        'additionalProperties': False}}, '$ref': '#/$defs/node'},
    {'allOf': [{'type': 'object', 'properties': {'a': {'type': 'integer'}}, 'required': ['a'],
                'additionalProperties': False}, {'properties': {'a': {'minimum': 5}}}]},
    {'oneOf': [{'type': 'object', 'properties': {'kind': {'const': k}, v: {'type': 'number'}}, 'required': ['kind', v],
                'additionalProperties': False} for k, v in (('circle', 'radius'), ('square', 'side'))]},
    {'type': 'object', 'properties': {'tool': {'enum': ['search', 'weather']}, 'arguments': {
        'type': 'object', 'properties': {'query': {'type': 'string'}, 'days': {
            'type': 'integer', 'minimum': 1, 'maximum': 14}}, 'required': ['query'], 'additionalProperties': False}},
     'required': ['tool', 'arguments'], 'additionalProperties': False},
]


def check_masks(tokenizer, other, vocabulary):
    """Masks of both along 10 walks of each schema, with and without blanks."""
    from llguidance import LLMatcher
    tokens, special, end = vocabulary.tokens, set(vocabulary.special_token_ids), vocabulary.eos_token_id
    masks = bad = 0
    for number, schema in enumerate(alike):
        for blanks in (1, 2):
            draw = random.Random(number)
            grammar = Grammar(schema, tokenizer, blanks, [end])
            source = LLMatcher.grammar_from_json_schema(schema, overrides={'whitespace_flexible': blanks == 2})
            for _ in range(10):
                matcher = LLMatcher(other, source)
                assert not matcher.get_error(), matcher.get_error()
                grammar.reset()
                text = b''
                for step in range(40):
                    mine = grammar.mask()
                    theirs = int.from_bytes(matcher.compute_bitmask(), 'little')
                    forced = matcher.compute_ff_bytes()
                    if forced:  # their mask has one token then, though others fit
                        theirs = sum(1 << t for t, text in enumerate(tokens)
                                     if text and t not in special
                                     and (forced.startswith(text) or text.startswith(forced))
                                     and matcher.validate_tokens([t]) == 1)
                    if re.search(rb'[0-9]{20}$|[0-9][eE][-+]?[0-9]{3}$', text):  # Mica ends a number here
                        theirs &= mine | ~sum(1 << t for t, word in enumerate(tokens) if re.fullmatch(rb'[0-9]+', word))
                    masks += 1
                    if mine != theirs:
                        bad += 1
                        only = [[(t, tokens[t]) for t in bits(x & ~y)][:5]
                                for x, y in ((mine, theirs), (theirs, mine))]
                        print(json.dumps(schema), blanks, text, 'only in Mica', only[0], 'only in llguidance', only[1])
                        break
                    token = draw.choice(bits(mine))
                    if token == end:
                        break
                    grammar.accept(token)
                    matcher.consume_token(token)
                    text += tokens[token]
    return masks, bad


class Vocabulary:
    """The tokens of a byte-level tokenizer.json as bytes, by GPT-2's table."""

    def __init__(self, saved, end):
        plain = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
        rest = [b for b in range(256) if b not in plain]
        byte_of = {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}
        words = dict(saved['model']['vocab'])
        self.special_token_ids = [t['id'] for t in saved['added_tokens'] if t.get('special')]
        self.tokens = [b''] * (max(words.values()) + 1)
        for word, i in words.items():
            self.tokens[i] = b'' if i in self.special_token_ids else bytes(byte_of[ch] for ch in word)
        for i in self.special_token_ids:
            self.tokens[i] = b'\xff<|special %d|>' % i
        self.eos_token_id = end
        self.bos_token_id = None

    def __call__(self, text):
        return [self.tokens.index(bytes([b])) for b in text]


single = {chr(i): i for i in range(128)}
failures = check_walks(json.load(open(sys.argv[2])))
try:
    from llguidance import LLTokenizer, TokenizerWrapper
except ImportError:
    print('SKIP: the masks, no llguidance')
    sys.exit(failures > 0)
if len(sys.argv) > 3:
    tokenizer = c.c_void_p()
    must(lib.mica_tokenizer_open(sys.argv[3].encode(), c.byref(tokenizer)))
    size = c.c_size_t()
    saved = json.loads(c.string_at(lib.mica_tokenizer_json(tokenizer, c.byref(size)), size.value))
    vocabulary = Vocabulary(saved, lib.mica_tokenizer_id(tokenizer, b'<|im_end|>'))
    other = LLTokenizer(TokenizerWrapper(vocabulary))
    masks, bad = check_masks(tokenizer, other, vocabulary)
    print(f'llguidance: {len(alike)} schemas, {masks} masks of {other.vocab_size} tokens, {bad} walks differ')
    failures += bad
sys.exit(failures > 0)
