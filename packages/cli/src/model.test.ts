import { create } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "@devtool/schema/operator";
import { describe, expect, it } from "vitest";
import { chooseModel, describeChoice } from "./model.ts";

const KEYS = {
  GEMINI_API_KEY: "g",
  OPENAI_API_KEY: "o",
  ANTHROPIC_API_KEY: "a",
};

describe("the choice of the model", () => {
  const choose = (
    env: Record<string, string>,
    flag?: string,
    config = {},
  ): string => {
    const choice = chooseModel(create(ModelConfigSchema, config), env, flag);
    return choice ? describeChoice(choice) : "scripted";
  };

  it("is the scripted model without any key", () => {
    expect(choose({})).toBe("scripted");
    expect(choose({ OPENAI_BASE_URL: "http://127.0.0.1:1/v1" })).toBe(
      "scripted",
    );
    expect(
      choose({
        OPENAI_API_KEY: " ",
        OPENAI_MODEL: "m",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
      }),
    ).toBe("scripted");
  });

  it("is the first API with a key, in the documented order, and names the others", () => {
    expect(choose(KEYS)).toBe(
      "gemini-pro-latest (Gemini; OpenAI's API and Anthropic with --model)",
    );
    expect(choose({ ...KEYS, GEMINI_API_KEY: "" })).toBe(
      "gpt-5.5 (OpenAI's API; Anthropic with --model)",
    );
    expect(choose({ ANTHROPIC_API_KEY: "a" })).toBe(
      "claude-sonnet-5-5 (Anthropic)",
    );
  });

  it("is what a prefix says: that of the flag, or else of the config file", () => {
    expect(choose(KEYS, "anthropic:claude-x")).toBe(
      "claude-x (Anthropic; Gemini and OpenAI's API with --model)",
    );
    expect(choose(KEYS, undefined, { name: "openai:gpt-x" })).toContain(
      "gpt-x (OpenAI's API;",
    );
    expect(choose(KEYS, "gemini:", { name: "openai:gpt-x" })).toContain(
      "gemini-pro-latest (Gemini;",
    );
    expect(
      choose(
        { OPENAI_API_KEY: "o", OPENAI_MODEL: "gpt-y" },
        "openai-responses:",
      ),
    ).toContain("gpt-y");
  });

  it("takes any other colon as part of the name", () => {
    expect(
      choose({ OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" }, "qwen3:8b"),
    ).toBe("qwen3:8b (OpenAI's API at 127.0.0.1:11434)");
  });

  it("needs no key for a server with OpenAI's API", () => {
    const config = {
      name: "openai:qwen3:8b",
      baseUrl: "http://user:secret@127.0.0.1:11434/v1",
    };
    expect(choose({}, undefined, config)).toBe(
      "qwen3:8b (OpenAI's API at 127.0.0.1:11434)",
    );
  });

  it("uses the base URL of the config file for the API of its name alone", () => {
    const config = {
      name: "openai:qwen3:8b",
      baseUrl: "http://127.0.0.1:11434/v1",
    };
    expect(choose(KEYS, "anthropic:", config)).toMatch(/\(Anthropic;/);
    expect(choose(KEYS, "gemini-x", config)).toMatch(/\(Gemini;/);
    expect(choose(KEYS, "openai-chat:other", config)).toContain(
      "other (OpenAI's API at 127.0.0.1:11434;",
    );
    const unnamed = { ...config, name: "" };
    expect(choose(KEYS, "anthropic:", unnamed)).toContain(
      "(Anthropic at 127.0.0.1:11434;",
    );
  });

  it.each([
    [
      {},
      "openai:gpt-x",
      /model "openai:gpt-x" has no key: set OPENAI_API_KEY, or OPENAI_BASE_URL/,
    ],
    [{}, "anthropic:x", /has no key: set ANTHROPIC_API_KEY/],
    [{ OPENAI_API_KEY: "o" }, "gemini:x", /has no key: set GEMINI_API_KEY/],
    [{}, "gpt-x", /--model gpt-x needs a key/],
  ])("refuses what cannot answer: %j, --model %s", (env, flag, error) => {
    expect(() => choose(env, flag)).toThrow(error);
  });

  it("leaves a name without a prefix in the config file alone while there is no key, as before", () => {
    expect(choose({}, undefined, { name: "gemini-2.5-pro" })).toBe("scripted");
  });
});
