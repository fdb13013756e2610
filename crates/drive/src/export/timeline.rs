//! The timeline of dies and channels as a Perfetto trace: a stream of protobuf packets, written during the run.
//!
//! The messages declare only those fields of Perfetto's `TracePacket`, `TrackDescriptor` and `TrackEvent` that are used
//! (perfetto.dev/docs/reference/trace-packet-proto). Each die and each channel is a track; one parent track holds the
//! dies, another the channels. An activity is a slice: a packet for its beginning, directly followed by a packet for
//! its end. A reader must sort the packets by time.

use crate::span::{Span, SpanPurpose};
use prost::Message;
use std::collections::BTreeMap;
use std::io::{Read, Result, Write};

/// Identifier of the packet sequence to which all packets belong.
const SEQUENCE: u32 = 1;
/// Identifiers of the parent tracks; the identifiers of their channels, dies and arrays follow each of them.
const CHANNELS: u64 = 1 << 32;
const DIES: u64 = 2 << 32;
const ARRAYS: u64 = 3 << 32;
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
/// Largest packet that is read \[bytes\]: one that is written is far smaller.
const PACKET_MAX: u64 = 1 << 20;
/// Tag of a packet in a trace: field 1, length-delimited.
const PACKET_TAG: u8 = 1 << 3 | 2;

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

/// Writes spans as packets.
pub struct TimelineWriter<W: Write> {
    to: W,
    packet: Vec<u8>,
}

impl<W: Write> TimelineWriter<W> {
    /// Creates a writer and writes the tracks of a drive with these numbers of channels and dies; with `arrays`, those
    /// of the dies have tracks of their own.
    pub fn new(to: W, channels: u32, dies: u32, arrays: bool) -> Result<TimelineWriter<W>> {
        let mut writer = TimelineWriter { to, packet: Vec::with_capacity(256) };
        let groups =
            [(CHANNELS, "channels", "channel", channels), (DIES, "dies", "die", dies), (ARRAYS, "arrays", "array", dies)];
        for (parent, title, name, count) in groups.into_iter().take(if arrays { 3 } else { 2 }) {
            writer.describe(parent, title.to_owned(), None)?;
            for number in 0..count {
                writer.describe(parent + 1 + u64::from(number), format!("{name} {number}"), Some(parent))?;
            }
        }
        Ok(writer)
    }

    fn describe(&mut self, uuid: u64, name: String, parent_uuid: Option<u64>) -> Result<()> {
        let track = TrackDescriptor { uuid: Some(uuid), name: Some(name), parent_uuid };
        self.write_packet(&TracePacket { track_descriptor: Some(track), ..TracePacket::default() })
    }

    /// Writes spans.
    pub fn write(&mut self, spans: &[Span]) -> Result<()> {
        for span in spans {
            let (track_uuid, categories, debug_annotations) = match span.purpose {
                SpanPurpose::Reason(reason) => (DIES + 1 + u64::from(span.track), vec![reason.name().to_owned()], Vec::new()),
                SpanPurpose::Array(reason) => (ARRAYS + 1 + u64::from(span.track), vec![reason.name().to_owned()], Vec::new()),
                SpanPurpose::Die(die) => {
                    let other_end = DebugAnnotation { name: Some("die".to_owned()), uint_value: Some(die.0.into()) };
                    (CHANNELS + 1 + u64::from(span.track), Vec::new(), vec![other_end])
                }
            };
            let begin = TrackEvent {
                kind: Some(SLICE_BEGIN),
                track_uuid: Some(track_uuid),
                name: Some(span.name.to_owned()),
                categories,
                debug_annotations,
            };
            let end = TrackEvent { kind: Some(SLICE_END), track_uuid: Some(track_uuid), ..TrackEvent::default() };
            for (at, event) in [(span.begin, begin), (span.end, end)] {
                self.write_packet(&TracePacket { timestamp: Some(at.0), track_event: Some(event), ..TracePacket::default() })?;
            }
        }
        Ok(())
    }

    fn write_packet(&mut self, packet: &TracePacket) -> Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet.clone() };
        self.packet.clear();
        self.packet.push(PACKET_TAG);
        packet.encode_length_delimited(&mut self.packet).expect("a vector takes what is written");
        self.to.write_all(&self.packet)
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.to
    }
}

/// A span as read from a timeline: track, activity, reason (for a channel, the die at the other end), start and end
/// \[ns\].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanRead {
    /// Name of the track: `die 5`, `channel 0`.
    pub track: String,
    /// Name of the activity: `read`, `program`, `data out`, ...
    pub name: String,
    /// Reason of a die's activity; for a channel, the die at the other end, such as `die 5`.
    pub reason: String,
    /// Start of the activity \[ns\].
    pub begin_ns: u64,
    /// End of the activity \[ns\].
    pub end_ns: u64,
}

/// Largest number of tracks: no drive has as many dies and channels.
const TRACKS_MAX: usize = 1 << 20;

/// Reads a timeline that [`TimelineWriter`] wrote, span by span.
pub struct TimelineReader<R: Read> {
    from: R,
    tracks: BTreeMap<u64, String>,
    packet: Vec<u8>,
    most: u64,
    /// Spans that may still come.
    left: u64,
}

impl<R: Read> TimelineReader<R> {
    /// Creates a reader at the beginning of a trace of at most `most` spans.
    pub fn new(from: R, most: u64) -> TimelineReader<R> {
        TimelineReader { from, tracks: BTreeMap::new(), packet: Vec::new(), most, left: most }
    }

    /// Returns the next span; none at the end.
    pub fn next_span(&mut self) -> Result<Option<SpanRead>> {
        loop {
            let Some(packet) = self.next_packet()? else {
                return if self.tracks.is_empty() { Err(damaged("it has no tracks")) } else { Ok(None) };
            };
            if let Some(TrackDescriptor { uuid: Some(uuid), name: Some(name), .. }) = packet.track_descriptor {
                self.tracks.insert(uuid, name);
                if self.tracks.len() > TRACKS_MAX {
                    return Err(damaged(&format!("more than {TRACKS_MAX} tracks")));
                }
            } else if let Some(event) = packet.track_event {
                let end = self.next_packet()?.ok_or_else(|| damaged("a slice has no end"))?;
                let is_pair = event.kind == Some(SLICE_BEGIN)
                    && end
                        .track_event
                        .as_ref()
                        .is_some_and(|end| end.kind == Some(SLICE_END) && end.track_uuid == event.track_uuid);
                let track = event.track_uuid.and_then(|uuid| self.tracks.get(&uuid));
                let (true, Some(track), Some(begin_ns), Some(end_ns)) = (is_pair, track, packet.timestamp, end.timestamp) else {
                    return Err(damaged("a slice is not followed by its end"));
                };
                let most = self.most;
                let more = || damaged(&format!("more than {most} spans: expected fewer, as of a shorter --timeline-for"));
                self.left = self.left.checked_sub(1).ok_or_else(more)?;
                let other_end = event.debug_annotations.first().and_then(|note| note.uint_value).map(|die| format!("die {die}"));
                return Ok(Some(SpanRead {
                    track: track.clone(),
                    name: event.name.unwrap_or_default(),
                    reason: event.categories.into_iter().next().or(other_end).unwrap_or_default(),
                    begin_ns,
                    end_ns,
                }));
            }
        }
    }

    fn next_packet(&mut self) -> Result<Option<TracePacket>> {
        let mut byte = [0u8; 1];
        if self.from.read(&mut byte)? == 0 {
            return Ok(None);
        }
        if byte[0] != PACKET_TAG {
            return Err(damaged("no packet where one should begin"));
        }
        let (mut length, mut shift) = (0u64, 0);
        loop {
            self.from.read_exact(&mut byte)?;
            length |= u64::from(byte[0] & 0x7f) << shift;
            shift += 7;
            if byte[0] & 0x80 == 0 {
                break;
            }
            if shift > 28 {
                return Err(damaged("the length of a packet has more than 5 bytes"));
            }
        }
        if length > PACKET_MAX {
            return Err(damaged("a packet of more than 1 MiB"));
        }
        self.packet.resize(length as usize, 0);
        self.from.read_exact(&mut self.packet)?;
        TracePacket::decode(&self.packet[..]).map(Some).map_err(|error| damaged(&error.to_string()))
    }
}

fn damaged(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, format!("not a timeline that ssdlab wrote: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{DieId, Reason, SimTime};

    #[test]
    fn what_is_written_is_read_back() {
        let span = |track, name, purpose, begin, end| Span { track, name, purpose, begin: SimTime(begin), end: SimTime(end) };
        let spans = [
            span(0, "command", SpanPurpose::Die(DieId(5)), 100, 390),
            span(5, "read", SpanPurpose::Reason(Reason::Gc), 100, 1 << 40),
            span(2, "lazy erase", SpanPurpose::Reason(Reason::Host), 7, 7),
            span(7, "program 1", SpanPurpose::Array(Reason::Host), 9, 12),
        ];
        let mut writer = TimelineWriter::new(Vec::new(), 2, 8, true).expect("memory");
        writer.write(&spans).expect("memory");
        let bytes = writer.into_inner();
        let mut reader = TimelineReader::new(&bytes[..], 100);
        let read = std::iter::from_fn(|| reader.next_span().expect("it was just written")).collect::<Vec<_>>();
        let expected = |track: &str, name: &str, reason: &str, begin_ns, end_ns| SpanRead {
            track: track.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
            begin_ns,
            end_ns,
        };
        assert_eq!(
            read,
            [
                expected("channel 0", "command", "die 5", 100, 390),
                expected("die 5", "read", "gc", 100, 1 << 40),
                expected("die 2", "lazy erase", "host", 7, 7),
                expected("array 7", "program 1", "host", 9, 12)
            ]
        );
        for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            let mut reader = TimelineReader::new(&bytes[..cut], 100);
            let ended = std::iter::from_fn(|| reader.next_span().transpose()).any(|span| span.is_err());
            assert!(ended, "a file that ends at byte {cut} is refused");
        }
    }

    #[test]
    fn more_spans_than_expected_are_refused() {
        let span = Span { track: 0, name: "read", purpose: SpanPurpose::Die(DieId(0)), begin: SimTime(1), end: SimTime(2) };
        let mut writer = TimelineWriter::new(Vec::new(), 1, 1, false).expect("memory");
        writer.write(&[span; 4]).expect("memory");
        let bytes = writer.into_inner();
        let count = |most| {
            let mut reader = TimelineReader::new(&bytes[..], most);
            std::iter::from_fn(|| reader.next_span().transpose()).collect::<Result<Vec<_>>>().map(|spans| spans.len())
        };
        assert_eq!(count(4).expect("as many as may be"), 4);
        let told = count(3).expect_err("one too many").to_string();
        assert!(told.contains("more than 3 spans: expected fewer"), "{told}");
    }

    #[test]
    fn a_packet_without_end_is_refused_before_memory_is_taken_for_it() {
        for bytes in [&b"\x0a\xff\xff\xff\xff\x7f"[..], b"\x0a\xff\xff\xff\xff\xff\xff", b"\x0a\x81\x80\x40"] {
            let told = TimelineReader::new(bytes, 100).next_span().expect_err("it has no such packet").to_string();
            assert!(told.contains("packet"), "{told}");
        }
    }
}
