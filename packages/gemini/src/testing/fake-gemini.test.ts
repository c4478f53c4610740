import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { FakeModel } from "@devtool/coding-agent/testing/fake-model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeGemini } from "./fake-gemini.ts";

describe("the fake Gemini", () => {
  let fake: FakeModel;
  beforeAll(async () => {
    fake = await startFakeGemini();
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  const post = (method: string, body: object): Promise<Response> =>
    fetch(`${fake.url}/v1beta/models/gemini-x:${method}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
  const prompt = (text: string) => ({ role: "user", parts: [{ text }] });
  const stream = async (...contents: object[]): Promise<string> =>
    (await post("streamGenerateContent", { contents })).text();

  it("streams a turn, and ends it with a finish reason and the usage", async () => {
    const frames = (await stream(prompt("think\ntext hi")))
      .trim()
      .split("\r\n\r\n");
    expect(
      frames.map((frame) => JSON.parse(frame.slice("data: ".length))),
    ).toMatchObject([
      {
        candidates: [
          {
            content: {
              parts: [{ thought: true, text: "**Subject 1** Description 1." }],
            },
          },
        ],
      },
      {
        candidates: [{ content: { parts: [{ text: "hi" }] } }],
        modelVersion: "gemini-x",
      },
      {
        candidates: [{ finishReason: "STOP" }],
        usageMetadata: { candidatesTokenCount: 2 },
      },
    ]);
  });

  it("finds the current turn of a conversation, also if an agent puts context before the prompt", async () => {
    const asked = {
      role: "user",
      parts: [
        { text: "Today is Monday." },
        { text: "read a\ntext then\nread b" },
      ],
    };
    const called = {
      role: "model",
      parts: [{ functionCall: { name: "read_file", args: {} } }],
    };
    const answered = {
      role: "user",
      parts: [
        {
          functionResponse: { name: "read_file", response: { output: "x\ny" } },
        },
      ],
    };
    expect(await stream(asked)).toContain('"file_path":"a"');
    expect(await stream(asked, called, answered)).toContain('"text":"then"');
    expect(await stream(asked, called, answered, called, answered)).toContain(
      "Done: read_file -> x.",
    );
  });

  it("starts again with each prompt, and echoes prompts that are no script", async () => {
    expect(
      await stream(
        prompt("text a"),
        { role: "model", parts: [{ text: "a" }] },
        prompt("hello"),
      ),
    ).toContain("You said: hello");
  });

  it("fails the given number of attempts, counted for each prompt", async () => {
    const statuses = async (text: string) =>
      (await post("streamGenerateContent", { contents: [prompt(text)] }))
        .status;
    expect(await statuses("fail 503 2\ntext a")).toBe(503);
    expect(await statuses("fail 503 2\ntext b")).toBe(503);
    expect(await statuses("fail 503 2\ntext a")).toBe(503);
    expect(await statuses("fail 503 2\ntext a")).toBe(200);
  });

  it("sends the delay before the next attempt", async () => {
    const response = await post("streamGenerateContent", {
      contents: [prompt("fail 429 1 after 2")],
    });
    expect(response.headers.get("retry-after")).toBe("2");
  });

  it("breaks streams as the script says", async () => {
    expect(await stream(prompt("text a\ncut"))).not.toContain("finishReason");
    expect(await stream(prompt("text a\nmalformed"))).toMatch(
      /"parts"\r\n\r\n$/,
    );
    expect(await stream(prompt("text a\nbadutf8"))).toContain("\ufffd");
    await expect(stream(prompt("text a\nreset"))).rejects.toThrow();
  });

  it("returns the whole response at once without streaming, with adjacent texts joined", async () => {
    const answer = await (
      await post("generateContent", {
        contents: [prompt("text a\ntext b\nread c")],
      })
    ).json();
    expect(answer).toMatchObject({
      candidates: [
        {
          content: {
            parts: [{ text: "ab" }, { functionCall: { name: "read_file" } }],
          },
        },
      ],
    });
  });

  it("responds with the smallest JSON that the requested schema allows", async () => {
    const schema = {
      type: "object",
      required: ["a", "b"],
      properties: { a: { type: "array" }, b: { enum: ["x"] } },
    };
    const generationConfig = {
      responseMimeType: "application/json",
      responseJsonSchema: schema,
    };
    const answer = await (
      await post("generateContent", {
        contents: [prompt("hi")],
        generationConfig,
      })
    ).json();
    expect(answer).toMatchObject({
      candidates: [{ content: { parts: [{ text: '{"a":[],"b":"x"}' }] } }],
    });
  });

  it("takes all properties of a schema as required when it requires null", async () => {
    const schema = {
      type: "object",
      required: null,
      properties: { a: { type: "array" } },
    };
    const generationConfig = {
      responseMimeType: "application/json",
      responseJsonSchema: schema,
    };
    const answer = await (
      await post("generateContent", {
        contents: [prompt("hi")],
        generationConfig,
      })
    ).json();
    expect(answer).toMatchObject({
      candidates: [{ content: { parts: [{ text: '{"a":[]}' }] } }],
    });
  });

  it("remembers requests until it is reset", async () => {
    await fetch(`${fake.url}/__fake/reset`, { method: "POST" });
    await stream(prompt("text hi"));
    await post("countTokens", { contents: [prompt("hi")] });
    expect(await (await fetch(`${fake.url}/__fake/stats`)).json()).toEqual({
      requests: 2,
      byMethod: { streamGenerateContent: 1, countTokens: 1 },
    });
    expect(
      await (await fetch(`${fake.url}/__fake/requests`)).json(),
    ).toMatchObject([{ prompt: "text hi", round: 0 }]);
  });

  it("rejects unknown methods, unknown paths and invalid JSON", async () => {
    expect((await post("dance", {})).status).toBe(404);
    expect((await fetch(`${fake.url}/v1beta/files`)).status).toBe(404);
    const url = `${fake.url}/v1beta/models/m:generateContent`;
    expect((await fetch(url, { method: "POST", body: "{" })).status).toBe(400);
  });

  it("serves the paths of Vertex AI, for requests with credentials", async () => {
    const ask = async (
      path: string,
      headers: Record<string, string>,
    ): Promise<number> => {
      const body = JSON.stringify({ contents: [prompt("text hi")] });
      return (
        await fetch(`${fake.url}${path}:streamGenerateContent?alt=sse`, {
          method: "POST",
          body,
          headers,
        })
      ).status;
    };
    const model = "publishers/google/models/gemini-x";
    const inProject = `/v1beta1/projects/p/locations/europe-west4/${model}`;
    expect(await ask(inProject, { authorization: "Bearer t" })).toBe(200);
    expect(fake.requests().at(-1)).toMatchObject({
      model: "gemini-x",
      headers: { authorization: "Bearer t" },
    });
    expect(fake.requests().at(-1)?.path).toBe(
      `${inProject}:streamGenerateContent`,
    );
    expect(
      await (await fetch(`${fake.url}/__fake/requests`)).text(),
    ).not.toContain("Bearer");
    expect(await ask(inProject, {})).toBe(401);
    expect(await ask(`/v1beta1/${model}`, { "x-goog-api-key": "k" })).toBe(200);
    expect(await ask(`/v1beta1/${model}`, { authorization: "Bearer t" })).toBe(
      401,
    );
    expect(
      await ask(`/v1beta1/locations/l/${model}`, { "x-goog-api-key": "k" }),
    ).toBe(404);
  });

  it("runs as a command, and stops when it is terminated", async () => {
    const main = fileURLToPath(new URL("./main.ts", import.meta.url));
    const child = spawn(process.execPath, [main, "--latency", "1"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(child.stdout, "data");
    const url = /http:\S+/.exec(String(line))?.[0] ?? "";
    expect((await fetch(`${url}/__fake/stats`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});
