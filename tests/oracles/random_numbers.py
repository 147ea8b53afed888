"""The native random numbers (SplitMix64) in plain Python."""

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def mix64(x):
    x = (x + GAMMA) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Random:
    def __init__(self, seed, stream=0):
        self.state = mix64(seed & MASK) ^ mix64(~stream & MASK)

    def next(self):
        result = mix64(self.state)
        self.state = (self.state + GAMMA) & MASK
        return result

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53
