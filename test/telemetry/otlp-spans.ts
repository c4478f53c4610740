import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";

/** A span as a collector gets it. */
export interface Seen {
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root of a trace. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The ids of the spans that it is linked to. */
  readonly links: readonly string[];
  /** The names of its events. */
  readonly events: readonly string[];
  /** 0 unset, 2 an error. */
  readonly status: number;
}

/** The fields of a message by their numbers, in the order in which they came. */
type Fields = ReadonlyMap<number, readonly unknown[]>;

/**
 * Reads the fields of a message of OTLP. Those with bytes, text or a message
 * are bytes.
 */
function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, unknown[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const all = fields.get(number) ?? [];
    fields.set(number, [...all, readValue(reader, type)]);
  }
  return fields;
}

function readValue(reader: BinaryReader, type: WireType): unknown {
  switch (Number(type)) {
    case 0:
      return Number(reader.int64());
    case 1:
      return reader.double();
    case 2:
      return reader.bytes();
    default:
      return reader.skip(type);
  }
}

function messagesIn(fields: Fields, number: number): readonly Uint8Array[] {
  return (fields.get(number) ?? []).filter(
    (value) => value instanceof Uint8Array,
  );
}

/** Reads the spans of an `ExportTraceServiceRequest` of OTLP 1.x. */
export function spansOf(request: Uint8Array): readonly Seen[] {
  const below = (bytes: readonly Uint8Array[], number: number) =>
    bytes.flatMap((each) => messagesIn(fieldsOf(each), number));
  const resources = messagesIn(fieldsOf(request), 1);
  return below(below(resources, 2), 2).map(spanOf);
}

function spanOf(bytes: Uint8Array): Seen {
  const fields = fieldsOf(bytes);
  const hex = (from: Fields, number: number): string =>
    Buffer.from(messagesIn(from, number)[0] ?? []).toString("hex");
  const [status] = messagesIn(fields, 15).map(fieldsOf);
  return {
    name: textIn(fields, 5),
    kind: Number(fields.get(6)?.[0]),
    traceId: hex(fields, 1),
    spanId: hex(fields, 2),
    parentSpanId: hex(fields, 4),
    attributes: Object.fromEntries(messagesIn(fields, 9).map(attributeOf)),
    events: messagesIn(fields, 11).map((event) => textIn(fieldsOf(event), 2)),
    links: messagesIn(fields, 13).map((link) => hex(fieldsOf(link), 2)),
    status: Number(status?.get(3)?.[0] ?? 0),
  };
}

function textIn(fields: Fields, number: number): string {
  return Buffer.from(messagesIn(fields, number)[0] ?? []).toString();
}

function attributeOf(bytes: Uint8Array): [string, unknown] {
  const fields = fieldsOf(bytes);
  return [textIn(fields, 1), messagesIn(fields, 2).map(anyValueOf)[0]];
}

/** Reads an `AnyValue` with text, a number or a list. */
function anyValueOf(bytes: Uint8Array): unknown {
  const fields = fieldsOf(bytes);
  if (fields.has(1)) return textIn(fields, 1);
  const [list] = messagesIn(fields, 5).map(fieldsOf);
  return list
    ? messagesIn(list, 1).map(anyValueOf)
    : (fields.get(3)?.[0] ?? fields.get(4)?.[0]);
}

/** The names of the spans below one. */
type Tree = { [name: string]: Tree };

/** Returns the names of the spans below one, as a tree. */
export function treeOf(spans: readonly Seen[], root: Seen): Tree {
  return Object.fromEntries(
    children(spans, root).map((span) => [span.name, treeOf(spans, span)]),
  );
}

/** Returns a span and all below it. */
export function below(spans: readonly Seen[], root: Seen): readonly Seen[] {
  return [root, ...children(spans, root).flatMap((span) => below(spans, span))];
}

function children(spans: readonly Seen[], root: Seen): readonly Seen[] {
  return spans.filter(({ parentSpanId }) => parentSpanId === root.spanId);
}
