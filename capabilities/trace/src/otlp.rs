//! Spans as OTLP has them in JSON: ids as hexadecimal digits, 64-bit numbers as texts
//! (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>).

use sampan_host::trace::{AttributeValue, FinishedSpans, Span, SpanKind, SpanStatus};
use serde_json::{Value, json};

/// The version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;

/// Returns the body of a request to a collector.
pub(crate) fn encoded(service_name: &str, batch: &[FinishedSpans]) -> Vec<u8> {
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let spans = batch.iter().flat_map(|finished| {
        let shown = finished.spans.iter();
        shown.map(|span| encoded_span(finished, span))
    });
    let all = json!({
        "resourceSpans": [{
            "resource": {
                "attributes": [
                    text("service.name", service_name),
                    text("telemetry.sdk.name", "sampan"),
                    text("telemetry.sdk.language", "rust"),
                    text("telemetry.sdk.version", VERSION),
                ],
            },
            "scopeSpans": [{
                "scope": { "name": "sampan", "version": VERSION },
                "spans": spans.collect::<Vec<_>>(),
            }],
        }],
    });
    all.to_string().into_bytes()
}

fn encoded_span(finished: &FinishedSpans, span: &Span) -> Value {
    let attributes = span.attributes.iter().map(|(key, value)| {
        let value = match value {
            AttributeValue::Text(text) => json!({ "stringValue": text }),
            AttributeValue::Int(number) => json!({ "intValue": number.to_string() }),
            AttributeValue::Float(number) => json!({ "doubleValue": number }),
            AttributeValue::Bool(is) => json!({ "boolValue": is }),
        };
        json!({ "key": key, "value": value })
    });
    let mut shown = json!({
        "traceId": finished.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": kind(span.kind),
        "startTimeUnixNano": span.start_nanos.to_string(),
        "endTimeUnixNano": span.end_nanos.to_string(),
        "attributes": attributes.collect::<Vec<_>>(),
        "status": match &span.status {
            SpanStatus::Unset => json!({}),
            SpanStatus::Error(text) if text.is_empty() => json!({ "code": FAILED }),
            SpanStatus::Error(text) => json!({ "code": FAILED, "message": text }),
        },
    });
    if let Some(parent) = span.parent {
        shown["parentSpanId"] = parent.to_string().into();
    }
    if let Some(state) = &finished.state {
        shown["traceState"] = (**state).into();
    }
    shown
}

fn kind(kind: SpanKind) -> u8 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Consumer => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::trace::{SpanId, TraceId};

    #[test]
    fn spans_are_encoded_as_the_specification_says() {
        let span = Span {
            id: SpanId(0xeee1_9b7e_c3c1_b174),
            parent: Some(SpanId(0xeee1_9b7e_c3c1_b173)),
            name: "I'm \"it\"".into(),
            kind: SpanKind::Server,
            start_nanos: 1_544_712_660_000_000_000,
            end_nanos: 1_544_712_661_000_000_000,
            attributes: vec![
                ("a".into(), "b".into()),
                ("n".into(), 7.into()),
                ("f".into(), AttributeValue::Float(0.5)),
                ("is".into(), AttributeValue::Bool(true)),
            ],
            status: SpanStatus::Error("boom".to_owned()),
        };
        let finished = FinishedSpans {
            trace: TraceId(0x5b8e_fff7_9803_8103_d269_b633_813f_c60c),
            state: Some("a=b".into()),
            spans: vec![span],
        };
        let body: Value = serde_json::from_slice(&encoded("shop", &[finished])).expect("JSON");
        let resource = &body["resourceSpans"][0];
        let expected = json!({ "key": "service.name", "value": { "stringValue": "shop" } });
        assert_eq!(resource["resource"]["attributes"][0], expected);
        assert_eq!(
            resource["scopeSpans"][0]["spans"][0],
            json!({
                "traceId": "5b8efff798038103d269b633813fc60c",
                "spanId": "eee19b7ec3c1b174",
                "parentSpanId": "eee19b7ec3c1b173",
                "traceState": "a=b",
                "name": "I'm \"it\"",
                "kind": 2,
                "startTimeUnixNano": "1544712660000000000",
                "endTimeUnixNano": "1544712661000000000",
                "attributes": [
                    { "key": "a", "value": { "stringValue": "b" } },
                    { "key": "n", "value": { "intValue": "7" } },
                    { "key": "f", "value": { "doubleValue": 0.5 } },
                    { "key": "is", "value": { "boolValue": true } },
                ],
                "status": { "code": 2, "message": "boom" },
            })
        );
    }
}
