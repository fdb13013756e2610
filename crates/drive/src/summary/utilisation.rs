//! Utilisation of the resources, and the bottleneck.

use crate::description::Description;
use crate::statistics::{Share, Utilisation};
use serde_json::{Map, Value, json};

/// Returns the section `utilisation`: the busy time of each resource over the elapsed time, and means over the dies,
/// the channels, the groups of decoders and the page buffers.
pub(super) fn section(description: &Description, busy: &Utilisation) -> Value {
    let mut all = Map::new();
    let Utilisation { flash: busy, controller, decoders } = busy;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    all.insert("channels".to_owned(), json!(mean(&busy.channels)));
    all.insert("dies".to_owned(), json!(mean(&busy.dies)));
    all.insert("dies_writing".to_owned(), json!(mean(&busy.writing)));
    for (index, share) in busy.channels.iter().enumerate() {
        all.insert(format!("channel_{index}"), json!(share));
    }
    for (index, share) in busy.dies.iter().enumerate() {
        all.insert(format!("die_{index}"), json!(share));
    }
    // An encoder that takes no time is never busy.
    for encoder in &description.flash.encoders {
        all.insert(format!("encoder_{}", encoder.code), json!(0.0));
    }
    for Share { name, busy, .. } in controller {
        all.insert(name.clone(), json!(busy));
    }
    if !decoders.is_empty() {
        all.insert("decoders".to_owned(), json!(mean(decoders)));
    }
    for (index, share) in decoders.iter().enumerate().filter(|_| decoders.len() > 1) {
        all.insert(format!("decoders_{index}"), json!(share));
    }
    if !busy.page_buffers.is_empty() {
        all.insert("page_buffers".to_owned(), json!(mean(&busy.page_buffers)));
    }
    for (index, share) in busy.page_buffers.iter().enumerate().filter(|_| busy.page_buffers.len() > 1) {
        all.insert(format!("page_buffers_{index}"), json!(share));
    }
    Value::Object(all)
}

/// Returns the keys of the section `utilisation` of a drive.
pub(crate) fn keys(description: &Description, busy: &Utilisation) -> Vec<String> {
    section(description, busy).as_object().into_iter().flat_map(Map::keys).cloned().collect()
}

/// A resource that was busy.
struct Candidate {
    name: String,
    busy: f64,
}

/// Returns the section `bottleneck`: the resource with the highest utilisation, and the one with the next highest.
/// Resources of a kind that share the work are one, which has the name and the utilisation of the busiest of them.
/// `null` if no resource was busy; without a next one, its fields are.
///
/// A command needs a resource for its busy time divided by the number of commands: its demand. The resource with the
/// highest utilisation has the largest demand, and in a closed loop the throughput is at most one over that (Denning
/// and Buzen, 1978: operational analysis). Page buffers are not among them: one is also in use while its data waits for
/// another resource.
pub(super) fn bottleneck(busy: &Utilisation) -> Value {
    // Of equals the one that is nearest to the host.
    let mut candidates = of_controller(&busy.controller);
    let decoders = |index: usize| if busy.decoders.len() > 1 { format!("decoders_{index}") } else { "decoders".to_owned() };
    candidates.extend(busiest(&busy.decoders, decoders));
    candidates.extend(busiest(&busy.flash.channels, |index| format!("channel_{index}")));
    candidates.extend(busiest(&busy.flash.dies, |index| format!("die_{index}")));
    candidates.retain(|candidate| candidate.busy > 0.0);
    candidates.sort_by(|one, other| other.busy.total_cmp(&one.busy));
    let mut ranked = candidates.into_iter();
    let Some(Candidate { name, busy }) = ranked.next() else { return Value::Null };
    let next = ranked.next();
    json!({
        "resource": name,
        "utilisation": busy,
        "next": next.as_ref().map(|next| &next.name),
        "next_utilisation": next.as_ref().map(|next| next.busy),
    })
}

/// Returns the busiest resource of each group of the controller, in the order of the groups.
fn of_controller(shares: &[Share]) -> Vec<Candidate> {
    let groups = shares.chunk_by(|one, next| one.group == next.group).filter(|group| group[0].group.is_some());
    groups
        .filter_map(|group| {
            let busy: Vec<f64> = group.iter().map(|share| share.busy).collect();
            busiest(&busy, |index| group[index].name.clone())
        })
        .collect()
}

/// Returns the busiest of some resources, the first among equals.
fn busiest(shares: &[f64], name: impl Fn(usize) -> String) -> Option<Candidate> {
    let mut all = shares.iter().enumerate();
    let first = all.next()?;
    let (index, busy) = all.fold(first, |most, one| if one.1 > most.1 { one } else { most });
    Some(Candidate { name: name(index), busy: *busy })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(name: &str, group: Option<u16>, busy: f64) -> Share {
        Share { name: name.to_owned(), group, busy }
    }

    #[test]
    fn groups_are_represented_by_their_busiest_member() {
        let controller = vec![
            share("link", Some(0), 0.3),
            share("core_0", Some(1), 0.2),
            share("core_1", Some(1), 0.8),
            share("dram_0", Some(3), 0.7),
            share("dram_1", Some(3), 0.75),
            share("dram_bus_0", None, 0.99),
        ];
        let flash = flash::Utilisation {
            channels: vec![0.5, 0.9],
            dies: vec![0.1, 0.6, 0.85],
            writing: vec![1.0; 3],
            page_buffers: Vec::new(),
        };
        let mut busy = Utilisation { flash, controller, decoders: vec![0.4, 0.86] };
        let named = |busy: &Utilisation| {
            let found = bottleneck(busy);
            (found["resource"].clone(), found["utilisation"].clone(), found["next"].clone(), found["next_utilisation"].clone())
        };
        let expected =
            |first: &str, busy: f64, next: &str, next_busy: f64| (json!(first), json!(busy), json!(next), json!(next_busy));
        // Neither a second channel nor the part of another resource is the next one.
        assert_eq!(named(&busy), expected("channel_1", 0.9, "decoders_1", 0.86));
        busy.flash.channels = vec![0.5, 0.5];
        busy.decoders = vec![0.85];
        assert_eq!(named(&busy), expected("decoders", 0.85, "die_2", 0.85));
        busy.controller[2].busy = 0.85;
        assert_eq!(named(&busy), expected("core_1", 0.85, "decoders", 0.85));
    }

    #[test]
    fn without_work_there_is_no_bottleneck() {
        let flash =
            flash::Utilisation { channels: vec![0.0; 2], dies: vec![0.0; 4], writing: vec![0.0; 4], page_buffers: Vec::new() };
        let mut busy = Utilisation { flash, controller: vec![share("link", Some(0), 0.0)], decoders: Vec::new() };
        assert_eq!(bottleneck(&busy), Value::Null);
        busy.flash.dies[3] = 0.25;
        assert_eq!(bottleneck(&busy), json!({"resource": "die_3", "utilisation": 0.25, "next": null, "next_utilisation": null}));
    }
}
