//! A device in Rust: memory that the host cannot reach, and copies within it.
//!
//! Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
//! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//!
//! Its target is `calls:::`, so programs are library calls and copies, and it
//! leaves the calls to the host. plugin.h says what each function has to do.

mod program;

use program::{Base, Program, Step};
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::ptr;
use std::sync::Mutex;

const INVALID_ARGUMENT: i32 = 1;
const UNSUPPORTED: i32 = 2;
const OUT_OF_MEMORY: i32 = 4;
const INTERNAL: i32 = 8;

const TARGET: &str = "calls:::";

pub struct Error {
    code: i32,
    message: CString,
}

type Outcome<T> = Result<T, Error>;

fn fail<T>(code: i32, message: impl Into<String>) -> Outcome<T> {
    let message = CString::new(message.into()).unwrap_or_default();
    Err(Error { code, message })
}

/// What the C ABI has for an outcome: NULL, or an error that the host frees.
fn hand_over(outcome: Outcome<()>) -> *mut Error {
    match outcome {
        Ok(()) => ptr::null_mut(),
        Err(error) => Box::into_raw(Box::new(error)),
    }
}

#[repr(C)]
pub struct ErrorInfo {
    struct_size: usize,
    code: i32,
    message: *const c_char,
    site: i64,
}

#[repr(C)]
pub struct Property {
    name: *const c_char,
    value: *const c_char,
}
unsafe impl Sync for Property {}

#[repr(C)]
pub struct Bytes {
    data: *const c_void,
    size: usize,
}

#[repr(C)]
pub struct Operand {
    buffer: *mut Buffer,
    sizes: *const i64,
    rank: u32,
    dtype: u8,
    flags: u8,
    bits: u64,
}

#[repr(C)]
pub struct Launch {
    struct_size: usize,
    operands: *const Operand,
    operand_count: usize,
    symbols: *const i64,
    symbol_count: usize,
    arena: *mut Buffer,
    first_step: u32,
    end_step: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Memory {
    struct_size: usize,
    allocated: usize,
    max_allocated: usize,
    reserved: usize,
}

pub struct Device {
    limit: usize,
    memory: Mutex<Memory>,
}

pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    fn range(&mut self, offset: usize, size: usize) -> Outcome<&mut [u8]> {
        let all = self.bytes.len();
        match offset.checked_add(size) {
            Some(end) if end <= all => Ok(&mut self.bytes[offset..end]),
            _ => fail(
                INVALID_ARGUMENT,
                format!("{size} bytes at {offset} end outside of a buffer of {all}"),
            ),
        }
    }
}

/// Memory is counted in lines of a cache.
fn rounded(bytes: usize) -> Option<usize> {
    Some(bytes.checked_add(63)? / 64 * 64)
}

// The two that end every failure.

unsafe extern "C" fn error_read(error: *const Error, info: *mut ErrorInfo) {
    (*info).code = (*error).code;
    (*info).message = (*error).message.as_ptr();
    (*info).site = -1;
}

unsafe extern "C" fn error_free(error: *mut Error) {
    drop(Box::from_raw(error));
}

// Devices.

unsafe extern "C" fn device_count(count: *mut u32) -> *mut Error {
    *count = 1;
    ptr::null_mut()
}

unsafe fn limit_in(options: *const Property, count: usize) -> Outcome<usize> {
    let mut limit = usize::MAX;
    for i in 0..count {
        let option = &*options.add(i);
        let name = CStr::from_ptr(option.name).to_string_lossy();
        let value = CStr::from_ptr(option.value).to_string_lossy();
        if name != "memory_limit" {
            return fail(INVALID_ARGUMENT, format!("there is no option {name}"));
        }
        limit = match value.parse() {
            Ok(bytes) => bytes,
            Err(_) => return fail(INVALID_ARGUMENT, "memory_limit is a number of bytes"),
        };
    }
    Ok(limit)
}

unsafe extern "C" fn device_open(
    ordinal: u32,
    options: *const Property,
    count: usize,
    device: *mut *mut Device,
) -> *mut Error {
    if ordinal != 0 {
        return hand_over(fail(INVALID_ARGUMENT, format!("there is no device {ordinal}")));
    }
    hand_over(limit_in(options, count).map(|limit| {
        let memory = Mutex::new(Memory::default());
        *device = Box::into_raw(Box::new(Device { limit, memory }));
    }))
}

unsafe extern "C" fn device_close(device: *mut Device) {
    drop(Box::from_raw(device));
}

unsafe extern "C" fn properties(_: *mut Device, count: *mut usize) -> *const Property {
    static ALL: [Property; 2] = [
        Property { name: b"target\0".as_ptr().cast(), value: b"calls:::\0".as_ptr().cast() },
        Property { name: b"description\0".as_ptr().cast(), value: b"in Rust\0".as_ptr().cast() },
    ];
    *count = ALL.len();
    ALL.as_ptr()
}

// Memory.

fn allocate(device: &Device, size: usize) -> Outcome<Box<Buffer>> {
    let mut memory = device.memory.lock().unwrap();
    let mut bytes = Vec::new();
    let after = rounded(size).and_then(|more| memory.allocated.checked_add(more));
    match after {
        Some(after) if after <= device.limit && bytes.try_reserve_exact(size).is_ok() => {
            bytes.resize(size, 0);
            memory.allocated = after;
            memory.reserved = after;
            memory.max_allocated = memory.max_allocated.max(after);
            Ok(Box::new(Buffer { bytes }))
        }
        _ => fail(OUT_OF_MEMORY, format!("there is no memory for {size} bytes")),
    }
}

unsafe extern "C" fn buffer_alloc(
    device: *mut Device,
    size: usize,
    buffer: *mut *mut Buffer,
) -> *mut Error {
    hand_over(allocate(&*device, size).map(|made| *buffer = Box::into_raw(made)))
}

unsafe extern "C" fn buffer_free(device: *mut Device, buffer: *mut Buffer) {
    let freed = Box::from_raw(buffer);
    let mut memory = (*device).memory.lock().unwrap();
    memory.allocated -= rounded(freed.bytes.len()).unwrap_or(0);
    memory.reserved = memory.allocated;
}

unsafe extern "C" fn buffer_write(
    _: *mut Device,
    _: *mut c_void,
    buffer: *mut Buffer,
    offset: usize,
    data: Bytes,
) -> *mut Error {
    hand_over((*buffer).range(offset, data.size).map(|to| {
        if data.data.is_null() {
            to.fill(0);
        } else {
            ptr::copy_nonoverlapping(data.data.cast(), to.as_mut_ptr(), data.size);
        }
    }))
}

unsafe extern "C" fn buffer_read(
    _: *mut Device,
    _: *mut c_void,
    buffer: *mut Buffer,
    offset: usize,
    data: *mut u8,
    size: usize,
) -> *mut Error {
    hand_over((*buffer).range(offset, size).map(|from| {
        if size > 0 {
            ptr::copy_nonoverlapping(from.as_ptr(), data, size);
        }
    }))
}

unsafe extern "C" fn memory(device: *mut Device, out: *mut Memory, reset_peak: i32) {
    let mut memory = (*device).memory.lock().unwrap();
    if reset_peak != 0 {
        memory.max_allocated = memory.allocated;
    }
    (*out).allocated = memory.allocated;
    (*out).max_allocated = memory.max_allocated;
    (*out).reserved = memory.reserved;
}

// Programs.

unsafe extern "C" fn program_load(
    _: *mut Device,
    artifact: Bytes,
    program: *mut *mut Program,
) -> *mut Error {
    let bytes = match artifact.size {
        0 => &[],
        size => std::slice::from_raw_parts(artifact.data.cast::<u8>(), size),
    };
    hand_over(load(bytes).map(|made| *program = Box::into_raw(Box::new(made))))
}

fn load(bytes: &[u8]) -> Outcome<Program> {
    let program = match Program::read(bytes) {
        Ok(program) => program,
        Err(why) => return fail(INVALID_ARGUMENT, format!("this is no program: {why}")),
    };
    if program.target != TARGET {
        return fail(UNSUPPORTED, format!("a program for {} and not {TARGET}", program.target));
    }
    if program.steps.iter().any(|step| matches!(step, Step::Launch)) {
        return fail(UNSUPPORTED, "the device has no kernels");
    }
    Ok(program)
}

unsafe extern "C" fn program_free(_: *mut Device, program: *mut Program) {
    drop(Box::from_raw(program));
}

unsafe extern "C" fn program_run(
    _: *mut Device,
    _: *mut c_void,
    program: *mut Program,
    launch: *const Launch,
) -> *mut Error {
    hand_over(run(&*program, &*launch))
}

unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(data, count)
}

unsafe fn run(program: &Program, launch: &Launch) -> Outcome<()> {
    let operands = slice(launch.operands, launch.operand_count);
    let symbols = slice(launch.symbols, launch.symbol_count);
    check(program, operands, symbols, launch.arena)?;
    let end = program.steps.len().min(launch.end_step as usize);
    for step in program.steps.iter().take(end).skip(launch.first_step as usize) {
        match step {
            Step::Copy { to, from, bytes } => {
                let size = program.value(*bytes, symbols).and_then(|n| usize::try_from(n).ok());
                let to = place(program, *to, operands, symbols, launch.arena);
                let from = place(program, *from, operands, symbols, launch.arena);
                let (to, from, size) = match (to, from, size) {
                    (Some(to), Some(from), Some(size)) => (to, from, size),
                    _ => return fail(INTERNAL, "a copy of what is not there"),
                };
                // Through a copy of its own: the ranges may overlap.
                let between = (*from.0).range(from.1, size)?.to_vec();
                (*to.0).range(to.1, size)?.copy_from_slice(&between);
            }
            _ => return fail(INTERNAL, "a library call is the host's"),
        }
    }
    Ok(())
}

/// The buffer and offset that an address of a program is.
fn place(
    program: &Program,
    word: program::Word,
    operands: &[Operand],
    symbols: &[i64],
    arena: *mut Buffer,
) -> Option<(*mut Buffer, usize)> {
    let amount = usize::try_from(program.value(word.amount, symbols)?).ok()?;
    match word.base {
        Base::Input(n) => Some((operands.get(n)?.buffer, amount)),
        Base::Result(n) => Some((operands.get(program.inputs + n)?.buffer, amount)),
        Base::Arena(n) => Some((arena, amount.checked_add(program.arena_offset(n, symbols)?)?)),
        Base::Nothing => None,
    }
    .filter(|(buffer, _)| !buffer.is_null())
}

unsafe fn check(
    program: &Program,
    operands: &[Operand],
    symbols: &[i64],
    arena: *mut Buffer,
) -> Outcome<()> {
    if operands.len() != program.types.len() || symbols.len() != program.symbols {
        return fail(INVALID_ARGUMENT, "another number of operands or symbols");
    }
    for (n, (operand, kind)) in operands.iter().zip(&program.types).enumerate() {
        let sizes = slice(operand.sizes, operand.rank as usize);
        let wanted: Option<Vec<i64>> =
            kind.dims.iter().map(|dim| program.value(*dim, symbols)).collect();
        let bytes = sizes
            .iter()
            .try_fold(kind.element_bytes, |all, n| all.checked_mul(usize::try_from(*n).ok()?));
        let fits = kind.is_scalar && operand.buffer.is_null()
            || !kind.is_scalar
                && !operand.buffer.is_null()
                && wanted.as_deref() == Some(sizes)
                && bytes.map_or(false, |bytes| bytes <= (*operand.buffer).bytes.len());
        if !fits || operand.dtype != kind.dtype {
            return fail(INVALID_ARGUMENT, format!("operand {n} is not the program's"));
        }
    }
    let wanted = program.arena_offset(program.arena.len(), symbols);
    let given = if arena.is_null() { 0 } else { (*arena).bytes.len() };
    // What is behind the last part's own bytes is rounding.
    match wanted {
        Some(wanted) if wanted <= given.checked_add(63).unwrap_or(given) / 64 * 64 => Ok(()),
        _ => fail(INVALID_ARGUMENT, "the arena is too small"),
    }
}

/// The required part of ltc_plugin; what is behind its end is absent.
#[repr(C)]
pub struct Plugin {
    struct_size: usize,
    name: *const c_char,
    error_read: unsafe extern "C" fn(*const Error, *mut ErrorInfo),
    error_free: unsafe extern "C" fn(*mut Error),
    device_count: unsafe extern "C" fn(*mut u32) -> *mut Error,
    device_open:
        unsafe extern "C" fn(u32, *const Property, usize, *mut *mut Device) -> *mut Error,
    device_close: unsafe extern "C" fn(*mut Device),
    properties: unsafe extern "C" fn(*mut Device, *mut usize) -> *const Property,
    buffer_alloc: unsafe extern "C" fn(*mut Device, usize, *mut *mut Buffer) -> *mut Error,
    buffer_free: unsafe extern "C" fn(*mut Device, *mut Buffer),
    buffer_write:
        unsafe extern "C" fn(*mut Device, *mut c_void, *mut Buffer, usize, Bytes) -> *mut Error,
    buffer_read: unsafe extern "C" fn(
        *mut Device,
        *mut c_void,
        *mut Buffer,
        usize,
        *mut u8,
        usize,
    ) -> *mut Error,
    memory: unsafe extern "C" fn(*mut Device, *mut Memory, i32),
    program_load: unsafe extern "C" fn(*mut Device, Bytes, *mut *mut Program) -> *mut Error,
    program_free: unsafe extern "C" fn(*mut Device, *mut Program),
    program_run:
        unsafe extern "C" fn(*mut Device, *mut c_void, *mut Program, *const Launch) -> *mut Error,
}
unsafe impl Sync for Plugin {}

static PLUGIN: Plugin = Plugin {
    struct_size: std::mem::size_of::<Plugin>(),
    name: b"rust\0".as_ptr().cast(),
    error_read,
    error_free,
    device_count,
    device_open,
    device_close,
    properties,
    buffer_alloc,
    buffer_free,
    buffer_write,
    buffer_read,
    memory,
    program_load,
    program_free,
    program_run,
};

#[no_mangle]
pub extern "C" fn ltc_plugin_query(abi_major: u32, _host: *const c_void) -> *const Plugin {
    if abi_major == 1 {
        &PLUGIN
    } else {
        ptr::null()
    }
}
