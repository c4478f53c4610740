import { describe, expect, it } from "vitest";
import { readServerSentEvents } from "./server-sent-events.ts";

describe("the events of a foreign agent", () => {
  it.each([
    [
      "joined, also with a comment between them",
      ['{"t":"a\\ud83d"}', "", '{"t":"\\ude00b"}'],
      ["a", "\u{1f600}b"],
    ],
    [
      "joined three times in a row",
      ['{"t":"\\ud83d"}', '{"t":"\\ude00\\ud83d"}', '{"t":"\\ude01"}'],
      ["", "\u{1f600}", "\u{1f601}"],
    ],
    [
      "replaced where another event is between them",
      ['{"t":"a\\ud83d"}', '{"t":"x"}', '{"t":"\\ude00b"}'],
      ["a\ufffd", "x", "\ufffdb"],
    ],
    ["replaced where the stream ends", ['{"t":"a\\ud83d"}'], ["a\ufffd"]],
    [
      "not seen in text that spells one",
      ['{"t":"a\\\\ud83d"}', '{"t":"\\ude00b"}'],
      ["a\\ud83d", "\ufffdb"],
    ],
  ])("have half characters %s", async (_what, sent, texts) => {
    const body = sent.map((data) => `data: ${data}\n\n`).join("");
    const frames = await Array.fromAsync(
      readServerSentEvents(new Response(body), AbortSignal.timeout(60_000)),
    );
    expect(frames.map(({ result }) => result)).toEqual(
      texts.map((t) => ({ t })),
    );
  });
});
