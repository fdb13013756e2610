//! Protection of a page by a code: layout, failure rates, times, and the cost of reads with retries.

use crate::part::Part;
use crate::question::{Question, ResolvedQuestion};
use ecc::latency::BchDecoder;
use ecc::plan::{ReadRetry, Sensing, Soft};
use ecc::{BlockCode, Code, Decoder, Encoder, LdpcDecoder, Plan, Prepared, Regulator, expected};
use kit::{Bytes, Problems};
use serde_json::{Value, json};

/// Page size for failures and layouts if none is given.
const PAGE: Bytes = Bytes(16_384);
/// Failure rates for which limits are shown.
const TARGETS: [f64; 4] = [1e-15, 1e-11, 1e-6, 1e-3];

/// Returns the code in a page: its layout, its limits with each number of soft levels, its times, and for each error
/// rate (by default the part's own limit) the failure rates of codewords and pages and the mean cost of read plans.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let setting = question.setting()?;
    let page = match &question.page_size {
        None => PAGE,
        Some(text) => text.parse().map_err(|complaint| Problems::one("page_size", format!("\"{text}\": {complaint}")))?,
    };
    let code = &setting.part.code;
    let rates = rates(question, &setting)?;
    // The page need not be a whole number of codewords here, since the question compares codes.
    let codewords = (page.0 * 8).div_ceil(code.data_bits()).max(1);
    let levels = match code {
        Code::Bch(_) => 0,
        Code::Ldpc(ldpc) => ldpc.limits.len().saturating_sub(1) as u32,
    };
    let limits: Vec<Value> = (0..=levels)
        .map(|soft| {
            let of: Vec<f64> = TARGETS.iter().map(|target| code.limit(soft, *target)).collect();
            json!({ "soft_levels": soft, "part": setting.part.limit(soft), "at_failure": of })
        })
        .collect();
    let prepared = Prepared::new(code, levels);
    let points: Vec<Value> = rates.iter().map(|rate| point(*rate, &setting.part, &prepared, codewords, levels)).collect();
    Ok(json!({
        "data_bits": code.data_bits(),
        "parity_bits": code.parity_bits(),
        "codeword_bits": code.codeword_bits(),
        "page_bytes": page.0,
        "codewords": codewords,
        "spare_bytes": code.layout(page.0).map(|layout| layout.spare_bytes),
        "encode_ns": Encoder::default().time(code).0,
        "targets": TARGETS,
        "limits": limits,
        "points": points,
    }))
}

fn rates(question: &Question, setting: &ResolvedQuestion) -> Result<Vec<f64>, Problems> {
    let Some(rates) = &question.rber else { return Ok(vec![setting.limit]) };
    match rates.all().iter().find(|rate| !(**rate >= 0.0 && **rate <= 0.5)) {
        Some(rate) => Err(Problems::one("rber", format!("{rate}: expected an error rate from 0 to 0.5"))),
        None => Ok(rates.all().to_vec()),
    }
}

fn point(rate: f64, part: &Part, code: &Prepared, codewords: u64, levels: u32) -> Value {
    let decoder = match &part.code {
        Code::Bch(_) => Decoder::Bch(BchDecoder::default()),
        Code::Ldpc(_) => Decoder::Ldpc(LdpcDecoder::default()),
    };
    let usual = (rate * code.codeword_bits() as f64).round() as u64;
    let beyond = code.correctable(0) as u64 + 1;
    let plans: Vec<(&str, Plan)> = match levels {
        0 => vec![("read_retry", Plan::ReadRetry(ReadRetry::default()))],
        levels => vec![
            ("read_retry", Plan::ReadRetry(ReadRetry::default())),
            ("soft", Plan::Soft(Soft { levels })),
            ("nasd", Plan::Nasd(Soft { levels })),
            ("sensing", Plan::Sensing(Sensing::default())),
        ],
    };
    let plans: serde_json::Map<String, Value> = plans
        .into_iter()
        .map(|(name, plan)| {
            let mean = expected(&plan, code, rate, codewords);
            (name.to_owned(), json!({ "senses": mean.senses, "transfers": mean.transfers, "failure": mean.failure }))
        })
        .collect();
    json!({
        "rber": rate,
        "mean_errors": rate * code.codeword_bits() as f64,
        "codeword_failure": code.failure(rate, 0),
        "page_failure": code.page_failure(rate, 0, codewords),
        "decode_ns": decoder.time(code, usual, 0).0,
        "decode_in_vain_ns": decoder.time(code, beyond, 0).0,
        "plans": plans,
    })
}

/// Returns the costs of AGCR's regulators: reads with N = 1, 3 and 7 references (sensing, transfers, and their sum),
/// and writes with steps of 4/3, 1 and 3/4.
pub(super) fn regulator(_: &Question) -> Result<Value, Problems> {
    let regulator = Regulator::default();
    let reads: Vec<Value> = [1, 3, 7]
        .map(|references| {
            json!({
                "references": references,
                "sensing_ns": regulator.sensing(references).0,
                "transfers": ecc::regulator::transfers(references),
                "transferring_ns": regulator.transferring(references).0,
                "read_ns": regulator.cost(references).0,
            })
        })
        .into();
    let writes: Vec<Value> =
        [4.0 / 3.0, 1.0, 0.75].map(|step| json!({ "relative_step": step, "write_ns": regulator.write_cost(step).0 })).into();
    Ok(json!({ "reads": reads, "writes": writes }))
}

#[cfg(test)]
mod tests {
    use crate::answer::ask;

    /// Thesis, 2.3.1: 0.6 to 0.8 % of 16 KiB reads fail at point B, 2.14e-3 to 2.16e-3 (FACTS 5.2), and correction
    /// takes an order of magnitude less time than sensing at point A.
    #[test]
    fn the_thesis_s_code_fails_and_takes_what_it_says() {
        let question = r#"{"cell": "thesis-a-mlc", "rber": [2.0e-3, 2.14e-3, 2.16e-3]}"#;
        let answer = ask("protection", question).expect("an answer");
        let point = |index: usize, field: &str| answer["points"][index][field].as_f64().expect("a number");
        assert_eq!(answer["codewords"], 4);
        assert!(point(1, "page_failure") > 0.0055 && point(2, "page_failure") < 0.0085, "{answer}");
        assert!(point(0, "decode_ns") < 68_000.0 / 8.0 && point(0, "decode_ns") > 2_000.0, "{answer}");
    }
}
