//! XML profiles of diskspd and scenarios of MQSim.

use crate::Number;
use crate::text;
use crate::workload_checks::{Reach, assert_requests};
use arbitrary::Arbitrary;
use workload::xml::{self, Chosen};

const DRIVE_BYTES: u64 = 1 << 30;

#[derive(Arbitrary, Debug)]
struct Document {
    mqsim: bool,
    scenario: Option<u8>,
    parts: Vec<Part>,
}

#[derive(Arbitrary, Debug)]
struct Part {
    outer: Vec<Element>,
    inner: Vec<Element>,
}

#[derive(Arbitrary, Debug)]
struct Element {
    name: u8,
    value: Value,
}

#[derive(Arbitrary, Debug)]
enum Value {
    Number(Number),
    Word(u8),
    Empty,
    Nested(u8, Number),
}

const SPAN: [&str; 13] = [
    "Duration",
    "Warmup",
    "Cooldown",
    "ThreadCount",
    "RequestCount",
    "RandSeed",
    "IoBucketDuration",
    "MeasureLatency",
    "DisableAffinity",
    "CompletionRoutines",
    "CalculateIopsStdDev",
    "Affinity",
    "GroupAffinity",
];
const TARGET: [&str; 30] = [
    "Path",
    "BlockSize",
    "BaseFileOffset",
    "FileSize",
    "MaxFileSize",
    "StrideSize",
    "Random",
    "RandomRatio",
    "Weight",
    "InterlockedSequential",
    "ThreadStride",
    "ThreadsPerFile",
    "RequestCount",
    "WriteRatio",
    "Throughput",
    "BurstSize",
    "ThinkTime",
    "WriteThrough",
    "DisableOSCache",
    "DisableAllCache",
    "SequentialScan",
    "TemporaryFile",
    "LargePages",
    "IOPriority",
    "WriteBufferContent",
    "Distribution",
    "ParallelAsyncIO",
    "UseLargePages",
    "RandomAccess",
    "Verify",
];
const FLOW: [&str; 25] = [
    "Priority_Class",
    "Device_Level_Data_Caching_Mode",
    "Channel_IDs",
    "Chip_IDs",
    "Die_IDs",
    "Plane_IDs",
    "Initial_Occupancy_Percentage",
    "Working_Set_Percentage",
    "Synthetic_Generator_Type",
    "Read_Percentage",
    "Address_Distribution",
    "Percentage_of_Hot_Region",
    "Generated_Aligned_Addresses",
    "Address_Alignment_Unit",
    "Request_Size_Distribution",
    "Average_Request_Size",
    "Variance_Request_Size",
    "Seed",
    "Average_No_of_Reqs_in_Queue",
    "Bandwidth",
    "Intensity",
    "Stop_Time",
    "Total_Requests_To_Generate",
    "File_Path",
    "Time_Unit",
];
const WORDS: [&str; 17] = [
    "true",
    "false",
    "WRITE_CACHE",
    "QUEUE_DEPTH",
    "BANDWIDTH",
    "STREAMING",
    "RANDOM_UNIFORM",
    "RANDOM_HOTCOLD",
    "FIXED",
    "NORMAL",
    "0,1,2",
    "IOPS",
    "bpms",
    "sequential",
    "#0",
    "%",
    "&lt;",
];
const NESTED: [&str; 4] = ["Range", "Percent", "Pattern", "RandomDataSource"];

impl Element {
    fn text(&self, names: &[&str]) -> String {
        let name = names[usize::from(self.name) % names.len()];
        let value = match &self.value {
            Value::Number(number) => number.to_string(),
            Value::Word(index) => WORDS[usize::from(*index) % WORDS.len()].to_owned(),
            Value::Empty => return format!("<{name}/>\n"),
            Value::Nested(index, number) => {
                let nested = NESTED[usize::from(*index) % NESTED.len()];
                format!("<{nested}>{number}</{nested}>")
            }
        };
        format!("<{name}>{value}</{name}>\n")
    }
}

/// Checks a document.
pub fn check(input: &[u8]) {
    let Some(document) = text::typed::<Document>(input) else {
        if let Some(text) = text::plain(input) {
            for scenario in [None, Some(1), Some(2)] {
                check_text(text, scenario);
            }
        }
        return;
    };
    let all = |elements: &[Element], names: &[&str]| elements.iter().map(|element| element.text(names)).collect::<String>();
    let mut text = String::new();
    for part in &document.parts {
        text += &if document.mqsim {
            let kind = "IO_Flow_Parameter_Set_Synthetic";
            format!("<IO_Scenario><{kind}>{}</{kind}></IO_Scenario>\n", all(&part.inner, &FLOW))
        } else {
            let (span, target) = (all(&part.outer, &SPAN), all(&part.inner, &TARGET));
            format!("<TimeSpan>{span}<Targets><Target><Path>t</Path>{target}</Target></Targets></TimeSpan>\n")
        };
    }
    let text = if document.mqsim {
        format!("<MQSim_IO_Scenarios>{text}</MQSim_IO_Scenarios>")
    } else {
        format!("<Profile><TimeSpans>{text}</TimeSpans></Profile>")
    };
    check_text(&text, document.scenario.map(u32::from));
}

fn check_text(text: &str, scenario: Option<u32>) {
    match xml::open("f", text, DRIVE_BYTES, 1, Chosen { ignore: &["Affinity".to_owned()], scenario }) {
        Ok(workload) => assert_requests(workload, &Reach { user_bytes: DRIVE_BYTES, requests: 48 }),
        Err(problems) => text::assert_told(&problems),
    }
}
