import { create } from "@bufbuild/protobuf";
import { TaskSchema, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { taskResult } from "./task-result.ts";

describe("the files of an agent in a result", () => {
  it("are images, sounds, resources and links, up to 4 MiB", () => {
    const bytes = (value: Uint8Array) => ({ case: "bytes" as const, value });
    const files = [
      { mediaType: "image/png", source: bytes(Buffer.from("png")) },
      { mediaType: "audio/wav", source: bytes(Buffer.from("wav")) },
      { name: "a b.zip", source: bytes(Buffer.from("zip")) },
      {
        name: "report",
        mediaType: "text/html",
        source: { case: "uri" as const, value: "https://x.example/r" },
      },
      { name: "big\n", source: bytes(new Uint8Array(4 * 1024 * 1024)) },
      { name: "after", source: bytes(Buffer.from("ok")) },
    ];
    const task = (state: TaskState) =>
      create(TaskSchema, {
        id: "t1",
        state,
        artifacts: [
          {
            parts: files.map((value) => ({
              content: { case: "file" as const, value },
            })),
          },
        ],
      });
    const [, ...blocks] = taskResult(task(TaskState.COMPLETED), {
      asksUser: true,
    }).content;
    expect(blocks).toEqual([
      { type: "image", mimeType: "image/png", data: "cG5n" },
      { type: "audio", mimeType: "audio/wav", data: "d2F2" },
      {
        type: "resource",
        resource: { uri: "devtool://files/t1/a%20b.zip", blob: "emlw" },
      },
      {
        type: "resource_link",
        uri: "https://x.example/r",
        name: "report",
        mimeType: "text/html",
      },
      {
        type: "text",
        text: '[file "big\\n", 4194304 bytes: too large to show]',
      },
      {
        type: "resource",
        resource: { uri: "devtool://files/t1/after", blob: "b2s=" },
      },
    ]);
    const works = taskResult(task(TaskState.WORKING), { asksUser: true });
    expect(works.content).toHaveLength(1);
  });
});
