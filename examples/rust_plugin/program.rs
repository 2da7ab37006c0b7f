//! Reads a program's bytes (program.h), as far as a device without kernels does.
//!
//! Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
//! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const VERSION: u64 = 9;
const HEADER: usize = 40;
const FIRST_FORMULA: i64 = -0x6c74630000000000;
const MAX_FORMULAS: i64 = 1 << 20;
const ALIGNMENT: usize = 64;
/// Bytes of a record of each section, in the order of the format.
const RECORDS: [usize; 16] = [56, 8, 16, 4, 20, 8, 8, 32, 40, 24, 40, 16, 16, 48, 4, 1];
/// Bytes of an element, by the number of its dtype (types.h).
const ELEMENTS: [usize; 18] = [1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 2, 4, 8, 1, 1, 4];

type Found<T> = Result<T, &'static str>;

#[derive(Clone, Copy)]
pub enum Base {
    /// A number, or the symbols' values: no memory of an operand.
    Nothing,
    Input(usize),
    Result(usize),
    Arena(usize),
}

/// A base and an amount of bytes behind it.
#[derive(Clone, Copy)]
pub struct Word {
    pub base: Base,
    pub amount: i64,
}

pub enum Step {
    Launch,
    Call,
    Copy { to: Word, from: Word, bytes: i64 },
}

pub struct Type {
    pub dtype: u8,
    pub is_scalar: bool,
    pub dims: Vec<i64>,
    pub element_bytes: usize,
}

pub struct Program {
    pub target: String,
    pub inputs: usize,
    pub symbols: usize,
    /// Inputs, then results.
    pub types: Vec<Type>,
    pub arena: Vec<i64>,
    pub steps: Vec<Step>,
    /// Sums of terms: a coefficient times symbols.
    formulas: Vec<Vec<(i64, Vec<usize>)>>,
}

/// The sections, as they lie in the bytes.
struct Tables<'a> {
    sections: Vec<&'a [u8]>,
}

impl<'a> Tables<'a> {
    fn find(bytes: &'a [u8]) -> Found<Self> {
        if bytes.len() < HEADER || &bytes[..8] != b"LTCARTI\n" {
            return Err("the header is missing");
        }
        if u64_at(bytes, 8) != VERSION {
            return Err("it has another format version");
        }
        let payload = &bytes[HEADER..];
        if u64_at(bytes, 16) != payload.len() as u64 || payload.len() < 16 * RECORDS.len() {
            return Err("the length is wrong");
        }
        let mut sections = Vec::new();
        for (i, record) in RECORDS.iter().enumerate() {
            let begin = u64_at(payload, 16 * i) as usize;
            let count = u64_at(payload, 16 * i + 8) as usize;
            let end = count.checked_mul(*record).and_then(|size| size.checked_add(begin));
            match end {
                Some(end) if end <= payload.len() => sections.push(&payload[begin..end]),
                _ => return Err("a table is outside of it"),
            }
        }
        Ok(Tables { sections })
    }

    fn records(&self, section: usize) -> impl Iterator<Item = &'a [u8]> {
        self.sections[section].chunks_exact(RECORDS[section])
    }

    fn range(&self, section: usize, first: u32, count: u32) -> Found<Vec<&'a [u8]>> {
        let all = self.sections[section].len() / RECORDS[section];
        if first as usize > all || count as usize > all - first as usize {
            return Err("a table names what is not there");
        }
        Ok(self.records(section).skip(first as usize).take(count as usize).collect())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    u64_at(bytes, at) as i64
}

impl Program {
    pub fn read(bytes: &[u8]) -> Found<Self> {
        let tables = Tables::find(bytes)?;
        let info = tables.records(0).next().ok_or("it says nothing about itself")?;
        let text = tables.range(15, u64_at(info, 16) as u32, u64_at(info, 24) as u32)?;
        let mut program = Program {
            target: text.iter().map(|byte| byte[0] as char).collect(),
            inputs: u32_at(info, 48) as usize,
            symbols: u32_at(info, 52) as usize,
            types: Vec::new(),
            arena: tables.records(6).map(|bytes| i64_at(bytes, 0)).collect(),
            steps: Vec::new(),
            formulas: Vec::new(),
        };
        for record in tables.records(1) {
            program.formulas.push(program.formula(&tables, record)?);
        }
        for record in tables.records(4) {
            program.types.push(type_of(&tables, record)?);
        }
        for record in tables.records(13) {
            let step = program.step(&tables, record)?;
            program.steps.push(step);
        }
        if program.inputs > program.types.len() {
            return Err("a table names what is not there");
        }
        Ok(program)
    }

    fn formula(&self, tables: &Tables, record: &[u8]) -> Found<Vec<(i64, Vec<usize>)>> {
        let mut sum = Vec::new();
        for term in tables.range(2, u32_at(record, 0), u32_at(record, 4))? {
            let mut factors = Vec::new();
            for factor in tables.range(3, u32_at(term, 8), u32_at(term, 12))? {
                factors.push(u32_at(factor, 0) as usize);
            }
            if factors.iter().any(|factor| *factor >= self.symbols) {
                return Err("a table names what is not there");
            }
            sum.push((i64_at(term, 0), factors));
        }
        Ok(sum)
    }

    fn step(&self, tables: &Tables, record: &[u8]) -> Found<Step> {
        let words = tables.range(11, u32_at(record, 8), u32_at(record, 12))?;
        match (u32_at(record, 0), words.len()) {
            (0, _) => Ok(Step::Launch),
            (1, _) => Ok(Step::Call),
            (2, 3) => Ok(Step::Copy {
                to: word(words[0]),
                from: word(words[1]),
                bytes: i64_at(words[2], 8),
            }),
            _ => Err("a step is of no kind"),
        }
    }

    /// A number: itself, or the value of the formula that it names.
    pub fn value(&self, number: i64, symbols: &[i64]) -> Option<i64> {
        if !(FIRST_FORMULA..FIRST_FORMULA + MAX_FORMULAS).contains(&number) {
            return Some(number);
        }
        let mut sum = 0i64;
        for (coefficient, factors) in self.formulas.get((number - FIRST_FORMULA) as usize)? {
            let mut product = *coefficient;
            for factor in factors {
                product = product.checked_mul(*symbols.get(*factor)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// Where a part of the arena begins; of one behind the last, how many bytes
    /// all take.
    pub fn arena_offset(&self, part: usize, symbols: &[i64]) -> Option<usize> {
        let mut end = 0usize;
        for bytes in self.arena.get(..part)? {
            end = end.checked_add(usize::try_from(self.value(*bytes, symbols)?).ok()?)?;
            end = end.checked_add(ALIGNMENT - 1)? / ALIGNMENT * ALIGNMENT;
        }
        Some(end)
    }
}

fn type_of(tables: &Tables, record: &[u8]) -> Found<Type> {
    let dims = tables.range(5, u32_at(record, 8), u32_at(record, 4))?;
    let dtype = u32_at(record, 0) as usize;
    Ok(Type {
        dtype: dtype as u8,
        is_scalar: u32_at(record, 12) != 0,
        dims: dims.iter().map(|dim| i64_at(dim, 0)).collect(),
        element_bytes: *ELEMENTS.get(dtype).ok_or("a type is of no dtype")?,
    })
}

fn word(record: &[u8]) -> Word {
    let index = u32_at(record, 4) as usize;
    let base = match u32_at(record, 0) {
        1 => Base::Input(index),
        2 => Base::Result(index),
        3 => Base::Arena(index),
        _ => Base::Nothing,
    };
    Word { base, amount: i64_at(record, 8) }
}
