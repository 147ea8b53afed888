"""The native random numbers (xoshiro256**, seeded by splitmix64) in plain Python."""

MASK = 2**64 - 1


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Random:
    def __init__(self, seed, stream=0):
        x = mix64(seed & MASK) ^ mix64(~stream & MASK)
        self.state = []
        for _ in range(4):
            x = mix64(x)
            self.state.append(x)

    def next(self):
        s = self.state

        def rotate(x, k):
            return ((x << k) | (x >> (64 - k))) & MASK

        result = (rotate((s[1] * 5) & MASK, 7) * 9) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53
