import type { FakeModel } from "@devtool/coding-agent/testing/fake-model";
import OpenAI from "openai";
import type {
  ResponseCreateParamsStreaming,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeOpenAi } from "./fake-openai.ts";

const READ = { type: "object", properties: { file_path: { type: "string" } } };

describe("the fake of OpenAI's API", () => {
  let fake: FakeModel;
  let sdk: OpenAI;
  beforeAll(async () => {
    fake = await startFakeOpenAi();
    sdk = new OpenAI({ apiKey: "k", baseURL: `${fake.url}/v1`, maxRetries: 0 });
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  const tool = (name: string) =>
    ({ type: "function", name, parameters: READ, strict: false }) as const;
  async function stream(
    request: Omit<ResponseCreateParamsStreaming, "model" | "stream">,
  ): Promise<ResponseStreamEvent[]> {
    const events: ResponseStreamEvent[] = [];
    for await (const event of await sdk.responses.create({
      model: "gpt-test",
      stream: true,
      ...request,
    })) {
      events.push(event);
    }
    return events;
  }

  it("streams a response: reasoning, text and calls, each with its item, then the usage", async () => {
    const events = await stream({
      input: "think\ntext a\ntext b\nread x",
      tools: [tool("read_file")],
      reasoning: { summary: "auto" },
      include: ["reasoning.encrypted_content"],
    });
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(
      events.map((event) =>
        "sequence_number" in event ? event.sequence_number : -1,
      ),
    ).toEqual([...events.keys()]);
    expect(events.at(-1)).toMatchObject({
      response: {
        output: [
          { type: "reasoning", encrypted_content: expect.any(String) },
          { type: "message", content: [{ text: "ab" }] },
          {
            type: "function_call",
            name: "read_file",
            arguments: '{"file_path":"x"}',
          },
        ],
        usage: {
          output_tokens: 4,
          output_tokens_details: { reasoning_tokens: 1 },
        },
      },
    });
  });

  it("gives the same response in one piece", async () => {
    const response = await sdk.responses.create({
      model: "gpt-test",
      input: "text a\ntext b",
    });
    expect(response).toMatchObject({
      status: "completed",
      output_text: "ab",
      object: "response",
    });
  });

  it("follows a conversation through its results, also behind context of the agent's own", async () => {
    const prompt = { role: "user", content: "read a\ntext then" } as const;
    const context: OpenAI.Responses.EasyInputMessage = {
      role: "user",
      content: [{ type: "input_text", text: "<environment_context/>" }],
    };
    const call = {
      type: "function_call",
      call_id: "1",
      name: "read_file",
      arguments: "{}",
    } as const;
    const result = {
      type: "function_call_output",
      call_id: "1",
      output: "x\ny",
    } as const;
    const answer = async (
      ...input: OpenAI.Responses.ResponseInputItem[]
    ): Promise<string> =>
      (
        await sdk.responses.create({
          model: "m",
          input,
          tools: [tool("read_file")],
        })
      ).output_text;
    expect(await answer(context, prompt, call, result)).toBe("then");
    expect(
      await answer(
        prompt,
        call,
        result,
        { ...call, call_id: "2" },
        { ...result, call_id: "2" },
      ),
    ).toBe("Done: read_file -> x.");
    expect(
      await answer(prompt, call, result, { role: "user", content: "hello" }),
    ).toBe("You said: hello");
  });

  it("names the tools as the agent declares them", async () => {
    const call = async (
      prompt: string,
      tools: OpenAI.Responses.Tool[],
    ): Promise<unknown> =>
      (await sdk.responses.create({ model: "m", input: prompt, tools }))
        .output[0];
    expect(await call("run ls", [tool("bash")])).toMatchObject({
      name: "bash",
      arguments: expect.stringContaining('"ls"'),
    });
    const asking = {
      ...tool("exec_command"),
      parameters: { type: "object", properties: { sandbox_permissions: {} } },
    };
    expect(await call("run ls", [asking])).toMatchObject({
      arguments: expect.stringMatching(/"cmd":"ls".*require_escalated/),
    });
    expect(
      await call("write a.txt hi", [{ type: "custom", name: "apply_patch" }]),
    ).toMatchObject({
      type: "custom_tool_call",
      input: "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n",
    });
  });

  it("calls nothing where no tool is declared", async () => {
    const { output_text } = await sdk.responses.create({
      model: "m",
      input: "run ls",
    });
    expect(output_text).toBe("Done.");
  });

  it("streams a chat completion with its usage", async () => {
    const request = {
      model: "gpt-test",
      stream: true,
      stream_options: { include_usage: true },
    } as const;
    const tools = [
      {
        type: "function",
        function: { name: "read_file", parameters: READ },
      } as const,
    ];
    const messages = [
      { role: "user", content: "think\ntext hi\nread x" } as const,
    ];
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await sdk.chat.completions.create({
      ...request,
      messages,
      tools,
    })) {
      chunks.push(chunk);
    }
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toMatchObject([
      { role: "assistant" },
      { reasoning_content: "**Subject 1** Description 1." },
      { content: "hi" },
      {
        tool_calls: [
          { index: 0, function: { name: "read_file", arguments: "" } },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"file_pa' } }] },
      { tool_calls: [{ index: 0, function: { arguments: 'th":"x"}' } }] },
      {},
      undefined,
    ]);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("tool_calls");
    expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens: 3 });
  });

  it("answers a chat in one piece, and ends it for a reason", async () => {
    const ask = (content: string) =>
      sdk.chat.completions.create({
        model: "m",
        messages: [{ role: "user", content }],
      });
    expect((await ask("text a\ntext b")).choices[0]).toMatchObject({
      message: { content: "ab" },
      finish_reason: "stop",
    });
    expect((await ask("text a\nfinish MAX_TOKENS")).choices[0]).toMatchObject({
      finish_reason: "length",
    });
  });

  it("fails and breaks as the script says", async () => {
    const failed = sdk.responses.create({
      model: "m",
      input: "fail 429 1 after 2",
    });
    await expect(failed).rejects.toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
    });
    await expect(stream({ input: "text a\nreset" })).rejects.toThrow();
    expect((await stream({ input: "text a\ncut" })).at(-1)?.type).toBe(
      "response.output_text.delta",
    );
    await expect(stream({ input: "text a\nmalformed" })).rejects.toThrow();
  });

  const refused: readonly (readonly [
    what: string,
    path: string,
    body: object,
    status: number,
    message: RegExp,
  ])[] = [
    [
      "an unknown parameter",
      "responses",
      { model: "m", input: "x", topp: 1 },
      400,
      /Unknown parameter: 'topp'/,
    ],
    [
      "an empty input",
      "responses",
      { model: "m", input: [] },
      400,
      /minimum length 1/,
    ],
    [
      "a result without its call",
      "responses",
      {
        model: "m",
        input: [{ type: "function_call_output", call_id: "1", output: "" }],
      },
      400,
      /No tool call found/,
    ],
    [
      "a call without its result",
      "responses",
      {
        model: "m",
        input: [
          { type: "function_call", call_id: "1", name: "a", arguments: "{}" },
        ],
      },
      400,
      /No tool output found/,
    ],
    [
      "reasoning of another's making",
      "responses",
      {
        model: "m",
        input: [
          {
            type: "reasoning",
            id: "rs_1",
            summary: [],
            encrypted_content: "?",
          },
        ],
      },
      400,
      /could not be verified/,
    ],
    [
      "reasoning by its name alone where nothing is stored",
      "responses",
      {
        model: "m",
        store: false,
        input: [{ type: "reasoning", id: "rs_1", summary: [] }],
      },
      400,
      /not persisted/,
    ],
    [
      "a tool with a name that is not allowed",
      "responses",
      {
        model: "m",
        input: "x",
        tools: [{ type: "function", name: "a b", parameters: {} }],
      },
      400,
      /pattern/,
    ],
    [
      "a tool message without a call",
      "chat/completions",
      {
        model: "m",
        messages: [{ role: "tool", tool_call_id: "1", content: "" }],
      },
      400,
      /No tool call found/,
    ],
    [
      "usage without a stream",
      "chat/completions",
      { model: "m", messages: [], stream_options: {} },
      400,
      /stream_options/,
    ],
    ["another path", "completions", {}, 404, /Invalid URL/],
  ];
  it.each(refused)("refuses %s", async (_what, path, body, status, message) => {
    const headers = { authorization: "Bearer k" };
    const response = await fetch(`${fake.url}/v1/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers,
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(message) },
    });
  });

  it("lists its models, and refuses requests without a key unless it needs none", async () => {
    expect((await sdk.models.list()).data).toMatchObject([
      { id: "gpt-test", object: "model" },
    ]);
    expect((await fetch(`${fake.url}/v1/models`)).status).toBe(401);
    await using open = await startFakeOpenAi({
      key: "optional",
      models: ["a", "b"],
    });
    expect(await (await fetch(`${open.url}/v1/models`)).json()).toMatchObject({
      data: [{ id: "a" }, { id: "b" }],
    });
  });
});
