import { describe, expect, it } from "vitest";
import type { Piece } from "./piece.ts";
import { piecesIn } from "./piece-stream.ts";

const piece = (text: string): string => JSON.stringify({ candidates: [{ content: { parts: [{ text }] } }] });

describe("a stream of pieces", () => {
  it.each([1, 2, 7, 1000])("is read in whatever bytes it comes: %d at a time", async (size) => {
    const text = `: comment\r\ndata: ${piece("grüße")}\r\n\r\nevent: x\ndata:${piece("日本")}\n\n`;
    expect(textsOf(await read(text, size))).toEqual(["grüße", "日本"]);
  });

  it("is not read past a line that was cut", async () => {
    expect(textsOf(await read(`data: ${piece("a")}\n\ndata: {"candi`, 9))).toEqual(["a"]);
  });

  it("fails at a piece that is no JSON, with the ones before it read", async () => {
    const seen: Piece[] = [];
    await expect(read(`data: ${piece("a")}\n\ndata: {"candi\n\n`, 1000, seen)).rejects.toThrow("no JSON");
    expect(textsOf(seen)).toEqual(["a"]);
  });

  it("fails at bytes that are no UTF-8, with the pieces before them read, though they come together", async () => {
    const good = new TextEncoder().encode(`data: ${piece("a")}\n\n`);
    const bad = new TextEncoder().encode(`data: ${piece("b")}\n\n`).fill(0xff, 40, 42);
    const seen: Piece[] = [];
    const reading = async (): Promise<void> => {
      for await (const each of piecesIn(ReadableStream.from([Uint8Array.of(...good, ...bad)]))) seen.push(each);
    };
    await expect(reading()).rejects.toThrow("no UTF-8");
    expect(textsOf(seen)).toEqual(["a"]);
  });

  it("fails at an error that comes in place of a piece, as at the same status", async () => {
    const text = 'data: {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}\n\n';
    await expect(read(text, 1000)).rejects.toThrow(/status 503 \(overloaded\)/);
  });

  it("fails at a line without end", async () => {
    await expect(read("x".repeat(5_000_000), 65_536)).rejects.toThrow("more than 4194304 bytes");
  });

  it("takes no value for what it is not", async () => {
    const wrong = [
      "7",
      '{"candidates": 7}',
      '{"candidates": [{"content": {"parts": "text"}}]}',
      '{"candidates": [{"content": {"parts": [{"text": 7}, {"functionCall": 7}, null]}}]}',
      '{"usageMetadata": {"promptTokenCount": -1.5}}',
      '{"__proto__": {"error": {}}}',
    ];
    const pieces = await read(wrong.map((json) => `data: ${json}\n\n`).join(""), 1000);
    expect(textsOf(pieces)).toEqual([]);
    expect(pieces).toHaveLength(wrong.length);
  });
});

async function read(text: string, size: number, seen: Piece[] = []): Promise<Piece[]> {
  const bytes = new TextEncoder().encode(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.slice(index * size, (index + 1) * size),
  );
  for await (const each of piecesIn(ReadableStream.from(chunks))) seen.push(each);
  return seen;
}

function textsOf(pieces: readonly Piece[]): string[] {
  return pieces.flatMap(({ parts }) => parts.flatMap((part) => (part.case === "text" ? [part.value] : [])));
}
