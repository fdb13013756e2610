//! Encodings of instructions for the tests, from the formats of the manual and independent of the decoder.

/// Places bits of `value` in descending order below bit `from`, as the manual writes an immediate: `offset[5:3|7:6]`.
pub fn scatter(value: i32, from: u32, order: &[u32]) -> u32 {
    let bit = |(at, number): (usize, &u32)| ((value as u32 >> number) & 1) << (from - at as u32);
    order.iter().enumerate().map(bit).fold(0, |word, bit| word | bit)
}

pub fn r(function_7: u32, function_3: u32, target: u32, source_1: u32, source_2: u32) -> u32 {
    function_7 << 25 | source_2 << 20 | source_1 << 15 | function_3 << 12 | target << 7 | 0x33
}

pub fn i(opcode: u32, function_3: u32, target: u32, source: u32, value: i32) -> u32 {
    (value as u32) << 20 | source << 15 | function_3 << 12 | target << 7 | opcode
}

pub fn u(opcode: u32, target: u32, value: u32) -> u32 {
    value << 12 | target << 7 | opcode
}

/// Returns `addi target, source, value`.
pub fn addi(target: u32, source: u32, value: i32) -> u32 {
    i(0x13, 0, target, source, value)
}

pub fn add(target: u32, source_1: u32, source_2: u32) -> u32 {
    r(0, 0, target, source_1, source_2)
}

/// Returns the two instructions that set a register to any value.
pub fn li(target: u32, value: u32) -> [u32; 2] {
    [u(0x37, target, value.wrapping_add(0x800) >> 12), addi(target, target, (value << 20) as i32 >> 20)]
}

/// Returns a load of function 0 (`lb`), 1 (`lh`), 2 (`lw`), 4 (`lbu`) or 5 (`lhu`).
pub fn load(function: u32, target: u32, base: u32, offset: i32) -> u32 {
    i(0x03, function, target, base, offset)
}

/// Returns a store of function 0 (`sb`), 1 (`sh`) or 2 (`sw`).
pub fn store(function: u32, source: u32, base: u32, offset: i32) -> u32 {
    let upper = scatter(offset, 31, &[11, 10, 9, 8, 7, 6, 5]);
    upper | source << 20 | base << 15 | function << 12 | scatter(offset, 11, &[4, 3, 2, 1, 0]) | 0x23
}

/// Returns a branch of function 0 (`beq`), 1 (`bne`), 4 (`blt`), 5 (`bge`), 6 (`bltu`) or 7 (`bgeu`).
pub fn branch(function: u32, source_1: u32, source_2: u32, offset: i32) -> u32 {
    let upper = scatter(offset, 31, &[12, 10, 9, 8, 7, 6, 5]);
    upper | source_2 << 20 | source_1 << 15 | function << 12 | scatter(offset, 11, &[4, 3, 2, 1, 11]) | 0x63
}

pub fn jal(target: u32, offset: i32) -> u32 {
    let order = [20, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 11, 19, 18, 17, 16, 15, 14, 13, 12];
    scatter(offset, 31, &order) | target << 7 | 0x6f
}

pub fn jalr(target: u32, base: u32, offset: i32) -> u32 {
    i(0x67, 0, target, base, offset)
}

/// Returns `csrrw`, `csrrs` or `csrrc` for functions 1 to 3, and those with an immediate for 5 to 7.
pub fn csr(function: u32, target: u32, source: u32, number: u32) -> u32 {
    i(0x73, function, target, source, number as i32)
}

pub const NOP: u32 = 0x13;
pub const ECALL: u32 = 0x73;
pub const EBREAK: u32 = 0x0010_0073;
pub const WFI: u32 = 0x1050_0073;

/// Returns a compressed instruction of `quadrant` and `function` with the other bits of `rest`.
fn c(quadrant: u32, function: u32, rest: u32) -> u16 {
    (function << 13 | rest | quadrant) as u16
}

/// Returns the three bits of one of the registers x8 to x15.
fn low(register: u32) -> u32 {
    assert!((8..16).contains(&register));
    register - 8
}

const CI: [u32; 5] = [4, 3, 2, 1, 0];

fn ci(quadrant: u32, function: u32, register: u32, value: i32) -> u16 {
    c(quadrant, function, scatter(value, 12, &[5]) | register << 7 | scatter(value, 6, &CI))
}

pub fn c_addi4spn(target: u32, value: i32) -> u16 {
    c(0, 0, scatter(value, 12, &[5, 4, 9, 8, 7, 6, 2, 3]) | low(target) << 2)
}

pub fn c_lw(target: u32, base: u32, offset: i32) -> u16 {
    c(0, 2, scatter(offset, 12, &[5, 4, 3]) | low(base) << 7 | scatter(offset, 6, &[2, 6]) | low(target) << 2)
}

pub fn c_sw(source: u32, base: u32, offset: i32) -> u16 {
    c(0, 6, scatter(offset, 12, &[5, 4, 3]) | low(base) << 7 | scatter(offset, 6, &[2, 6]) | low(source) << 2)
}

pub fn c_addi(target: u32, value: i32) -> u16 {
    ci(1, 0, target, value)
}

pub fn c_li(target: u32, value: i32) -> u16 {
    ci(1, 2, target, value)
}

/// Returns `c.lui` with the upper immediate `value`.
pub fn c_lui(target: u32, value: i32) -> u16 {
    ci(1, 3, target, value)
}

pub fn c_addi16sp(value: i32) -> u16 {
    c(1, 3, scatter(value, 12, &[9]) | 2 << 7 | scatter(value, 6, &[4, 6, 8, 7, 5]))
}

/// Returns `c.srli`, `c.srai` or `c.andi` for functions 0 to 2.
pub fn c_immediate(function: u32, target: u32, value: i32) -> u16 {
    c(1, 4, scatter(value, 12, &[5]) | function << 10 | low(target) << 7 | scatter(value, 6, &CI))
}

/// Returns `c.sub`, `c.xor`, `c.or` or `c.and` for functions 0 to 3.
pub fn c_operation(function: u32, target: u32, source: u32) -> u16 {
    c(1, 4, 3 << 10 | low(target) << 7 | function << 5 | low(source) << 2)
}

const CJ: [u32; 11] = [11, 4, 9, 8, 10, 6, 7, 3, 2, 1, 5];

pub fn c_j(offset: i32) -> u16 {
    c(1, 5, scatter(offset, 12, &CJ))
}

pub fn c_jal(offset: i32) -> u16 {
    c(1, 1, scatter(offset, 12, &CJ))
}

/// Returns `c.beqz` or `c.bnez` for functions 0 and 1.
pub fn c_branch(function: u32, source: u32, offset: i32) -> u16 {
    c(1, 6 + function, scatter(offset, 12, &[8, 4, 3]) | low(source) << 7 | scatter(offset, 6, &[7, 6, 2, 1, 5]))
}

pub fn c_slli(target: u32, value: i32) -> u16 {
    ci(2, 0, target, value)
}

pub fn c_lwsp(target: u32, offset: i32) -> u16 {
    c(2, 2, scatter(offset, 12, &[5]) | target << 7 | scatter(offset, 6, &[4, 3, 2, 7, 6]))
}

pub fn c_swsp(source: u32, offset: i32) -> u16 {
    c(2, 6, scatter(offset, 12, &[5, 4, 3, 2, 7, 6]) | source << 2)
}

pub fn c_jr(source: u32) -> u16 {
    c(2, 4, source << 7)
}

pub fn c_jalr(source: u32) -> u16 {
    c(2, 4, 1 << 12 | source << 7)
}

pub fn c_mv(target: u32, source: u32) -> u16 {
    c(2, 4, target << 7 | source << 2)
}

pub fn c_add(target: u32, source: u32) -> u16 {
    c(2, 4, 1 << 12 | target << 7 | source << 2)
}

pub const C_EBREAK: u16 = 0x9002;

/// Instructions under assembly.
#[derive(Clone, Default)]
pub struct Code(pub Vec<u8>);

impl Code {
    pub fn word(&mut self, word: u32) {
        self.0.extend(word.to_le_bytes());
    }

    pub fn half(&mut self, half: u16) {
        self.0.extend(half.to_le_bytes());
    }
}

impl<const N: usize> From<[u32; N]> for Code {
    fn from(words: [u32; N]) -> Code {
        let mut code = Code::default();
        words.into_iter().for_each(|word| code.word(word));
        code
    }
}
