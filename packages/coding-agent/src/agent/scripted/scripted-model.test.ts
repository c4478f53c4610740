import { create } from "@bufbuild/protobuf";
import { MessageSchema, Role } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { ModelEvent } from "../model.ts";
import { createScriptedModel } from "./scripted-model.ts";

describe("the scripted model", () => {
  it("sends the events of each instruction", async () => {
    const events = await play(
      "think\ntext a\nrepeat 2 b\ncite https://a.example\nread x.txt x2",
    );
    expect(events.map(({ case: kind }) => kind)).toEqual([
      "thought",
      "text",
      "text",
      "text",
      "citation",
      "toolCall",
      "toolCall",
    ]);
  });

  it("sends a notice for each failed attempt, then continues", async () => {
    const events = await play("fail 503 2\ntext well");
    expect(events.map(({ value }) => value)).toMatchObject([
      { attempt: 1 },
      { attempt: 2 },
      "well",
    ]);
  });

  it.each([
    ["fail 503", "status 503"],
    ["finish SAFETY", "stopped with SAFETY"],
    ["cut", "broke off its answer: cut"],
    ["malformed", "broke off its answer: malformed"],
  ])("fails at: %s", async (instruction, words) => {
    await expect(play(`text begun\n${instruction}`)).rejects.toThrow(words);
  });

  it("sends the last event again for duplicate", async () => {
    expect(await play("text a\nduplicate")).toHaveLength(2);
  });

  it("hangs until it is aborted", async () => {
    const controller = new AbortController();
    const playing = play("hang", controller.signal);
    controller.abort(new Error("enough"));
    await expect(playing).rejects.toThrow("enough");
  });
});

async function play(
  script: string,
  signal: AbortSignal = AbortSignal.timeout(60_000),
): Promise<ModelEvent[]> {
  const history = [
    create(MessageSchema, {
      role: Role.USER,
      parts: [{ content: { case: "text", value: script } }],
    }),
  ];
  const events: ModelEvent[] = [];
  const request = {
    history,
    tools: [],
    workspacePath: "/w",
    instructions: async () => "",
    model: "",
  };
  for await (const event of createScriptedModel().generate(request, signal)) {
    events.push(event);
  }
  return events;
}
