import { describe, expect, it } from "vitest";
import { fetchAgentCard } from "./agent-card.ts";
import { readText } from "./response-text.ts";

const MIB = 1024 * 1024;
const { signal } = new AbortController();

/**
 * Answers without end. Counts the bytes that were read, and whether the
 * connection was closed.
 */
function endless(head: string) {
  const seen = { bytes: 0, isClosed: false };
  const chunk = new Uint8Array(MIB).fill(0x20);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(head)),
    pull: (controller) => {
      seen.bytes += chunk.length;
      controller.enqueue(chunk);
    },
    cancel: () => {
      seen.isClosed = true;
    },
  });
  const response = new Response(body, {
    headers: { "content-type": "application/json" },
  });
  return { seen, fetch: () => Promise.resolve(response), response };
}

describe("an answer without end", () => {
  it("is refused, and its connection is closed", async () => {
    const { response, seen } = endless("{");
    await expect(readText(response)).rejects.toThrow(
      "has more than 134217728 characters",
    );
    expect(seen.isClosed).toBe(true);
    expect(seen.bytes).toBeLessThan(140 * MIB);
  });

  it("is refused in place of a card, and not asked for again", async () => {
    const { fetch, seen } = endless("{");
    const reading = fetchAgentCard(
      { url: "http://agent.example", fetch },
      signal,
    );
    await expect(reading).rejects.toThrow("has more than 134217728 characters");
    expect(seen.isClosed).toBe(true);
  });
});

describe("an answer", () => {
  it.each(["", "x", "\u{feff}x", "é🙂".repeat(50_000)])(
    "is read as fetch reads it: %#",
    async (text) => {
      const bytes = new TextEncoder().encode(text);
      const pieces = ReadableStream.from([
        bytes.subarray(0, 1),
        bytes.subarray(1, 70_003),
        bytes.subarray(70_003),
      ]);
      expect(await readText(new Response(pieces))).toBe(
        await new Response(bytes).text(),
      );
    },
  );

  it("without a body is empty", async () => {
    expect(await readText(new Response(null, { status: 204 }))).toBe("");
  });
});
