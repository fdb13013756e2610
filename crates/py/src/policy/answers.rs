//! Conversion of a Python policy's answers into the engine's types, with the problem if an answer cannot be converted.

use super::names::{Names, shown};
use ftl::policy::{PageMove, ReadAnswer, Relocation, WriteAnswer};
use kit::{BlockId, Lpn, ModeId, Nanos, Ppn, Problem, Reason, SimTime};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

/// A converted answer, or the problem that prevented its conversion.
pub type Understood<T> = Result<T, Problem>;

/// Converts a whole number within the range of type `T`. NumPy integers are accepted, `bool` is not.
pub fn whole<'py, T: for<'a> FromPyObject<'a, 'py>>(
    call: &str,
    what: &str,
    range: &str,
    value: &Bound<'py, PyAny>,
) -> Understood<T> {
    let number = if value.is_instance_of::<PyBool>() { None } else { value.extract::<T>().ok() };
    number.ok_or_else(|| Problem::new(call, format!("{what}{}: expected {range}", shown(value))))
}

/// Converts the answer of `write` or `relocate`: a write mode, or a tuple of a write mode and a stream, of which
/// `stream` says what it is.
pub fn write(call: &str, stream: &str, names: &Names, answer: &Bound<'_, PyAny>) -> Understood<WriteAnswer> {
    let Ok(pair) = answer.cast::<PyTuple>() else {
        return names.write.mode(call, answer).map(|mode| WriteAnswer { mode, stream: 0 });
    };
    let (Ok(mode), Ok(chosen), 2) = (pair.get_item(0), pair.get_item(1), pair.len()) else {
        return Err(Problem::new(call, format!("{}: expected a write mode, or a write mode and a stream", shown(answer))));
    };
    let mode = names.write.mode(call, &mode)?;
    Ok(WriteAnswer { mode, stream: whole(call, "stream ", stream, &chosen)? })
}

/// Converts the answer of `read_issued`: a read mode, or `None`.
pub fn read(names: &Names, answer: &Bound<'_, PyAny>) -> Understood<ReadAnswer> {
    let mode = if answer.is_none() { None } else { Some(names.read.mode("read_issued", answer)?) };
    Ok(ReadAnswer { mode })
}

/// Converts the answer of `score`: a number.
pub fn score(answer: &Bound<'_, PyAny>) -> Understood<f64> {
    answer.extract().ok().ok_or_else(|| Problem::new("score", format!("{}: expected a number", shown(answer))))
}

/// Converts the answer of `free_list`: a level of erase.
pub fn level(answer: &Bound<'_, PyAny>) -> Understood<u8> {
    whole("free_list", "", "the number of a level", answer)
}

/// Converts an instant \[ns since the run began\], or `None`.
pub fn instant(call: &str, answer: &Bound<'_, PyAny>) -> Understood<Option<SimTime>> {
    if answer.is_none() {
        return Ok(None);
    }
    whole(call, "", "a time in nanoseconds since the run began, or None", answer).map(|at| Some(SimTime(at)))
}

/// Converts a span of time: nanoseconds, or a text with its unit such as `"5ms"`.
pub fn span(call: &str, answer: &Bound<'_, PyAny>) -> Understood<Nanos> {
    if let Ok(text) = answer.cast::<PyString>() {
        return text.to_string().parse().map_err(|complaint| Problem::new(call, format!("{}: {complaint}", shown(answer))));
    }
    whole(call, "", "nanoseconds, or a duration such as \"5ms\"", answer).map(Nanos)
}

/// Converts a page to be moved, or `None`. A block is refused.
pub fn page(call: &str, names: &Names, answer: &Bound<'_, PyAny>) -> Understood<Option<PageMove>> {
    match relocation(call, names, answer)? {
        None => Ok(None),
        Some(Relocation::Page(page)) => Ok(Some(page)),
        Some(Relocation::Block { .. }) => Err(Problem::new(call, format!("{}: expected a PageMove or None", shown(answer)))),
    }
}

/// Converts a page or a block to be moved, or `None`.
pub fn relocation(call: &str, names: &Names, answer: &Bound<'_, PyAny>) -> Understood<Option<Relocation>> {
    if answer.is_none() {
        return Ok(None);
    }
    let field = |name: &str| answer.getattr(name).ok();
    let has = |name: &str| -> Understood<Bound<'_, PyAny>> {
        let wanted = if call == "idle" { "a PageMove, a BlockMove or None" } else { "a PageMove or None" };
        field(name).ok_or_else(|| Problem::new(call, format!("{}: expected {wanted}", shown(answer))))
    };
    let reason = reason(call, &has("reason")?)?;
    if let Some(block) = field("block") {
        let block = BlockId(whole(call, "block ", "the number of a block", &block)?);
        return Ok(Some(Relocation::Block { block, reason }));
    }
    Ok(Some(Relocation::Page(PageMove {
        lpn: Lpn(whole(call, "lpn ", "the number of a unit", &has("lpn")?)?),
        from: Ppn(whole(call, "ppn ", "the number of a place", &has("ppn")?)?),
        reason,
        mode: names.write.mode(call, &has("mode")?)?,
        deadline: instant(call, &has("deadline")?)?,
    })))
}

fn reason(call: &str, answer: &Bound<'_, PyAny>) -> Understood<Reason> {
    let known = Reason::ALL.iter().copied();
    let text = answer.cast::<PyString>().map(|text| text.to_string());
    let Ok(text) = text else { return Err(Problem::new(call, format!("reason {}: expected its name", shown(answer)))) };
    known
        .clone()
        .find(|reason| reason.name() == text)
        .ok_or_else(|| Problem::unknown(call, "reason", &text, known.map(|reason| reason.name())))
}

/// Converts the answer of `stats`: a dictionary of names and finite numbers.
pub fn stats(answer: &Bound<'_, PyAny>) -> Understood<Vec<(String, f64)>> {
    let wrong =
        |found: &Bound<'_, PyAny>, expected: &str| Problem::new("stats", format!("{}: expected {expected}", shown(found)));
    let table = answer.cast::<PyDict>().map_err(|_| wrong(answer, "a dictionary of names and numbers"))?;
    let mut numbers = Vec::new();
    for (name, value) in table {
        let text = name.extract::<String>().map_err(|_| wrong(&name, "a name"))?;
        let number = value.extract::<f64>().ok().filter(|number| number.is_finite());
        let number =
            number.ok_or_else(|| Problem::new("stats", format!("{text} = {}: expected a finite number", shown(&value))))?;
        numbers.push((text, number));
    }
    Ok(numbers)
}

/// Converts an iterable of write modes.
pub fn modes(call: &str, names: &Names, answer: &Bound<'_, PyAny>) -> PyResult<Understood<Vec<ModeId>>> {
    let modes: Vec<Bound<'_, PyAny>> = answer.try_iter()?.collect::<PyResult<_>>()?;
    Ok(modes.iter().map(|mode| names.write.mode(call, mode)).collect())
}
