# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write scikit-learn's handwritten digits to a file that C++ reads.

    python write_digits.py digits.bin

Each of the 1,797 images is 64 bytes, brightness from 0 to 16 row by row, and one
byte with the digit. They are shuffled, always in the same order.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits


def main():
    digits = load_digits()
    rows = np.column_stack([digits.data, digits.target]).astype(np.uint8)
    np.random.default_rng(0).shuffle(rows)
    rows.tofile(sys.argv[1])


if __name__ == "__main__":
    main()
