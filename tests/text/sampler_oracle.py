"""sampler_oracle.py LIBRARY [ROWS]: draws by Mica, and by the formulas of each step in numpy. Compares which tokens are
left, their log probabilities, the token drawn and its log softmax. Prints a row per case."""
import ctypes
import sys

import numpy as np

OFF = dict(temperature=1.0, top_k=-1, top_p=1.0, min_p=-0.0)
REALS = ('temperature temperature_range temperature_exponent top_p min_p typical_p top_n_sigma xtc_probability '
         'xtc_threshold repeat_penalty presence_penalty frequency_penalty dry_multiplier dry_base').split()
WHOLES = 'top_k penalty_last_n dry_last_n dry_allowed_length'.split()
DEFAULTS = dict(temperature=0.8, temperature_range=0, temperature_exponent=1, top_p=0.95, min_p=0.05, typical_p=1,
                top_n_sigma=0, xtc_probability=0, xtc_threshold=0.1, repeat_penalty=1, presence_penalty=0,
                frequency_penalty=0, dry_multiplier=0, dry_base=1.75, top_k=40, penalty_last_n=64, dry_last_n=4096,
                dry_allowed_length=2, dry_breakers=(), logit_bias=())
CANDIDATE = np.dtype([('token', np.int32), ('logprob', np.float64)], align=True)


class Bias(ctypes.Structure):
    _fields_ = [('token', ctypes.c_int32), ('bias', ctypes.c_float)]


class Config(ctypes.Structure):
    _fields_ = ([('seed', ctypes.c_uint64)] + [(n, ctypes.c_double) for n in REALS]
                + [(n, ctypes.c_int64) for n in WHOLES]
                + [('dry_breakers', ctypes.POINTER(ctypes.c_int32)), ('dry_breaker_count', ctypes.c_size_t),
                   ('logit_bias', ctypes.POINTER(Bias)), ('logit_bias_count', ctypes.c_size_t),
                   ('order', ctypes.c_char_p)])


class Mica:
    def __init__(self, library):
        self.c = ctypes.CDLL(library)
        self.c.mica_error_message.restype = ctypes.c_char_p
        self.c.mica_sampler_candidates.restype = ctypes.c_void_p

    def create(self, seed, order=None, dry_breakers=(), logit_bias=(), **fields):
        config = Config(seed=seed, order=order.encode() if order else None, **fields)
        config.dry_breakers = (ctypes.c_int32 * len(dry_breakers))(*dry_breakers)
        config.dry_breaker_count = len(dry_breakers)
        config.logit_bias = (Bias * len(logit_bias))(*[Bias(*b) for b in logit_bias])
        config.logit_bias_count = len(logit_bias)
        sampler = ctypes.c_void_p()
        if self.c.mica_sampler_create(ctypes.byref(config), ctypes.byref(sampler)):
            raise ValueError(self.c.mica_error_message().decode())
        return sampler

    def draw(self, sampler, logits, mask, history):
        self.c.mica_sampler_reset(sampler)
        for token in history:
            self.c.mica_sampler_accept(sampler, ctypes.c_int32(token))
        token, logprob, count = ctypes.c_int32(), ctypes.c_float(), ctypes.c_size_t()
        if self.c.mica_sampler_draw(sampler, logits.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(logits)),
                                    None if mask is None else mask.ctypes.data_as(ctypes.c_void_p),
                                    ctypes.byref(token), ctypes.byref(logprob)):
            raise ValueError(self.c.mica_error_message().decode())
        left = self.c.mica_sampler_candidates(sampler, ctypes.byref(count))
        left = np.frombuffer(ctypes.string_at(left, count.value * CANDIDATE.itemsize), CANDIDATE)
        return token.value, logprob.value, left['token'], left['logprob']


def philox(seed, position):
    m = 0xFFFFFFFF
    c, k = [position & m, position >> 32, 0, 0x73616D70], [seed & m, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & m, (a >> 32) ^ c[3] ^ k[1], a & m]
        k = [(k[0] + 0x9E3779B9) & m, (k[1] + 0xBB67AE85) & m]
    return [((c[i] << 21) ^ (c[i + 1] >> 11)) / 2**53 for i in (0, 2)]


# A state is ids and logits, one order for both; `ordered` once a step has sorted by logit.

def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def best(ids, x):
    return np.lexsort((ids, -x))


def logit_bias(f, ids, x, history, chance):
    for token, bias in f['logit_bias']:
        x = x + np.where(ids == token, np.float64(np.float32(bias)), 0)
    return ids[x > -np.inf], x[x > -np.inf]


def penalties(f, ids, x, history, chance):
    counts = np.bincount(history[-f['penalty_last_n']:], minlength=ids.max() + 1)[ids]
    repeated = np.where(x > 0, x / f['repeat_penalty'], x * f['repeat_penalty'])
    repeated = repeated - counts * f['frequency_penalty'] - f['presence_penalty']
    return ids, np.where(counts > 0, repeated, x)


def dry(f, ids, x, history, chance):
    history = list(history[-f['dry_last_n']:])
    longest = {}
    for end in range(1, len(history)):  # history[end] follows an earlier copy of the text's end
        length = 0
        while (length < end and history[end - 1 - length] == history[-1 - length]
               and history[-1 - length] not in f['dry_breakers']):
            length += 1
        longest[history[end]] = max(longest.get(history[end], 0), length)
    x = x.copy()
    for i, token in enumerate(ids):
        length = longest.get(token, 0)
        if length >= f['dry_allowed_length'] and token not in f['dry_breakers']:
            x[i] -= f['dry_multiplier'] * f['dry_base'] ** (length - f['dry_allowed_length'])
    return ids, x


def top_n_sigma(f, ids, x, history, chance):
    keep = x >= x.max() - f['top_n_sigma'] * x.std()
    return ids[keep], x[keep]


def top_k(f, ids, x, history, chance):
    keep = best(ids, x)[:f['top_k']]
    return ids[keep], x[keep]


def typical(f, ids, x, history, chance):
    p = softmax(x)
    logs = np.log(p)
    distance = np.abs(-logs + (p * logs).sum())
    order = np.argsort(distance, kind='stable')
    count = np.searchsorted(np.cumsum(p[order]), f['typical_p'], side='right') + 1
    keep = np.sort(order[:count])
    return ids[keep], x[keep]


def top_p(f, ids, x, history, chance):
    order = best(ids, x)
    keep = order[:np.searchsorted(np.cumsum(softmax(x)[order]), f['top_p'], side='left') + 1]
    return ids[keep], x[keep]


def min_p(f, ids, x, history, chance):
    p = softmax(x)
    keep = p >= f['min_p'] * p.max()
    return ids[keep], x[keep]


def xtc(f, ids, x, history, chance):
    if chance >= f['xtc_probability']:
        return ids, x
    order = best(ids, x)
    likely = int((softmax(x) >= f['xtc_threshold']).sum())
    keep = order[max(likely - 1, 0):]
    return ids[keep], x[keep]


def temperature(f, ids, x, history, chance):
    t, spread = f['temperature'], f['temperature_range']
    if spread > 0 and len(x) > 1:
        p = softmax(x)
        h = -(p * np.log(p)).sum() / np.log(len(p))
        low, high = max(0, t - spread), t + spread
        t = low + (high - low) * h ** f['temperature_exponent']
    elif spread > 0:
        t = 1
    return ids, x / t


STEPS = [('penalties', penalties, lambda f: True), ('dry', dry, lambda f: f['dry_multiplier'] > 0),
         ('top_n_sigma', top_n_sigma, lambda f: f['top_n_sigma'] > 0), ('top_k', top_k, lambda f: f['top_k'] > 0),
         ('typical', typical, lambda f: f['typical_p'] < 1), ('top_p', top_p, lambda f: f['top_p'] < 1),
         ('min_p', min_p, lambda f: f['min_p'] > 0), ('xtc', xtc, lambda f: f['xtc_probability'] > 0),
         ('temperature', temperature, lambda f: f['temperature'] > 0)]


def reference(f, order, seed, logits, mask, history):
    """The token, its log softmax, and {token: log probability} of what was left."""
    x = logits.astype(np.float64)
    ids = np.arange(len(x))
    model = x - x.max() - np.log(np.exp(x - x.max()).sum())
    if mask is not None:
        allowed = np.unpackbits(mask.view(np.uint8), bitorder='little')[:len(x)].astype(bool)
        ids, x = ids[allowed], x[allowed]
    u, chance = philox(seed, len(history))
    ids, x = logit_bias(f, ids, x, history, chance)
    ordered = False
    table = {name: (step, active) for name, step, active in STEPS}
    for name in order.split(',') if order else table:
        step, active = table[name]
        if active(f):
            ids, x = step(f, ids, x, history, chance)
            ordered |= name in ('top_k', 'top_p') or (name == 'xtc' and chance < f['xtc_probability'])
    if f['temperature'] == 0:
        keep = best(ids, x)[:1]
        ids, x = ids[keep], x[keep]
    if ordered:
        keep = best(ids, x)
        ids, x = ids[keep], x[keep]
    p = softmax(x)
    token = ids[min(np.searchsorted(np.cumsum(p), u, side='right'), len(p) - 1)]
    return token, model[token], ids, np.log(p)


CASES = {
    'draw': {},
    'logit bias': dict(logit_bias=[(5, 3.5), (9, float('-inf')), (0, -2.0), (5, 1.25)]),
    'repeat penalty': dict(repeat_penalty=1.3),
    'presence, frequency': dict(presence_penalty=0.7, frequency_penalty=0.4, penalty_last_n=20),
    'all penalties': dict(repeat_penalty=0.8, presence_penalty=-0.5, frequency_penalty=0.1, penalty_last_n=1000),
    'dry': dict(dry_multiplier=0.8),
    'dry, breakers': dict(dry_multiplier=1.1, dry_base=1.2, dry_allowed_length=1, dry_breakers=[2, 4], dry_last_n=50),
    'top n sigma': dict(top_n_sigma=1.2),
    'top k': dict(top_k=17),
    'typical': dict(typical_p=0.7),
    'top p': dict(top_p=0.8),
    'min p': dict(min_p=0.1),
    'xtc': dict(xtc_probability=0.5, xtc_threshold=0.02),
    'temperature': dict(temperature=0.6),
    'dynamic temperature': dict(temperature=1.0, temperature_range=0.7, temperature_exponent=1.3),
    'greedy': dict(temperature=-0.0),
    'defaults': dict(temperature=0.0, top_k=0, top_p=0.0, min_p=0.0),
    'all': dict(repeat_penalty=1.1, frequency_penalty=0.2, dry_multiplier=0.5, top_n_sigma=3.0, top_k=100,
                typical_p=0.9, top_p=0.9, min_p=0.01, xtc_probability=0.3, xtc_threshold=0.1, temperature=1.4,
                temperature_range=0.3,
                logit_bias=[(1, 2.0)]),
    'another order': dict(order='temperature,min_p,typical,penalties,xtc,top_p', temperature=1.7, min_p=0.01,
                          typical_p=0.95, top_p=0.9, repeat_penalty=1.2, xtc_probability=0.5),
}


def main():
    mica = Mica(sys.argv[1])
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    failed = 0
    for name, fields in CASES.items():
        fields = {**OFF, **fields}
        order = fields.pop('order', None)
        f = {**DEFAULTS, **{k: v for k, v in fields.items() if v != 0 or np.signbit(v)}}
        random = np.random.default_rng(7)
        seed = int(random.integers(2**63))
        sampler = mica.create(seed, order, **fields)
        error, error32, wrong, least, most = 0.0, 0.0, 0, 10**9, 0
        for row in range(rows):
            size = int(random.choice([40, 200, 1000]))
            logits = (random.standard_normal(size) * random.choice([0.5, 2, 5])).astype(np.float32)
            if row % 4 == 0:
                logits = np.round(logits * 2) / 2  # ties
            mask = random.integers(2**32, size=(size + 31) // 32, dtype=np.uint32) if row % 3 == 0 else None
            if mask is not None:
                mask[0] |= 1 << 3
            history = random.integers(8, size=int(random.integers(120)))
            token, logprob, ids, logs = mica.draw(sampler, logits, mask, history)
            want_token, want_logprob, want_ids, want_logs = reference(f, order, seed, logits, mask, history)
            least, most = min(least, len(ids)), max(most, len(ids))
            if token != want_token or not np.array_equal(ids, want_ids):
                wrong += 1
                continue
            error = max(error, (np.abs(logs - want_logs) / np.maximum(np.abs(want_logs), 1)).max())
            error32 = max(error32, abs(logprob - want_logprob) / max(abs(want_logprob), 1))
        # Sums of up to 1,000 doubles in another order; the one log probability of the token is a float.
        bad = wrong > 0 or error > 1e-12 or error32 > 2.0**-23
        failed += bad
        print(f'{name:22} {rows} rows, {least} to {most} left, {wrong} differ, error {error:.1e}, {error32:.1e}'
              + ('  FAILED' if bad else ''))
        mica.c.mica_sampler_destroy(sampler)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
