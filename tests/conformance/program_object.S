/* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
   SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   program.c as an object file and program.ptx, for drivers to load, and
   training.ltc. */
        .section .rodata
        .balign 16
        .globl conformance_program_begin, conformance_program_end
conformance_program_begin:
        .incbin PROGRAM_OBJECT
conformance_program_end:
        .globl conformance_ptx_begin, conformance_ptx_end
conformance_ptx_begin:
        .incbin PROGRAM_PTX
conformance_ptx_end:
        .globl conformance_training_begin, conformance_training_end
conformance_training_begin:
        .incbin TRAINING_STEP
conformance_training_end:
        .section .note.GNU-stack,"",@progbits
