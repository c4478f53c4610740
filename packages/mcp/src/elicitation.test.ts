import type { Answer, Question } from "@devtool/coding-agent/tool";
import type { ElicitRequestFormParams } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { elicit } from "./elicitation.ts";
import { createSafeValidator } from "./safe-validator.ts";

const SERVER = {
  name: "s",
  place: "https://s.example/mcp, named by the client",
};

type Fields = ElicitRequestFormParams["requestedSchema"]["properties"];

describe("elicitation", async () => {
  const validator = await createSafeValidator();

  /**
   * Elicits a form with the given answers. Returns the result and what was
   * shown.
   */
  async function ask(
    properties: Fields,
    answers: readonly Answer[],
    required: string[] = [],
  ) {
    const questions: Question[] = [];
    const hooks = {
      progress: () => undefined,
      keepAlive: () => undefined,
      recordTask: () => Promise.resolve(),
      sample: () => Promise.reject(new Error("asks no model")),
      ask: async (question: Question): Promise<Answer> => {
        questions.push(question);
        return (
          answers[questions.length - 1] ?? { optionId: "cancel", text: "" }
        );
      },
    };
    const requestedSchema = { type: "object" as const, properties, required };
    const params = {
      mode: "form" as const,
      message: "Who are you?",
      requestedSchema,
    };
    const result = await elicit(
      SERVER,
      { method: "elicitation/create", params },
      { hooks, validator },
      new AbortController().signal,
    );
    const shown = questions.map(({ details }) =>
      details.case === "genericDetails" ? details.value.description : "",
    );
    return { result, questions, shown };
  }
  const send = (text: string): Answer => ({ optionId: "proceed_once", text });

  it("is a yes-or-no question if the form has no fields", async () => {
    const { result, questions } = await ask({}, [send("")]);
    expect(result).toEqual({ action: "accept", content: {} });
    expect(questions[0]?.options.map(({ id }) => id)).toEqual([
      "proceed_once",
      "cancel",
    ]);
  });

  it("shows where the server is and who named it", async () => {
    const { questions, shown } = await ask({}, [send("")]);
    expect(questions[0]?.description).toBe(
      "MCP server s (https://s.example/mcp, named by the client) asks",
    );
    expect(shown).toEqual([
      "MCP server s (https://s.example/mcp, named by the client) asks: Who are you?",
    ]);
  });

  it("is a choice if the only field is one", async () => {
    const { result, questions } = await ask({ sure: { type: "boolean" } }, [
      { optionId: "value:false", text: "" },
    ]);
    expect(result).toEqual({ action: "accept", content: { sure: false } });
    expect(questions[0]?.options.map(({ name }) => name)).toEqual([
      "Yes",
      "No",
      "Decline",
    ]);
  });

  it("tells choices with the same title apart", async () => {
    const oneOf = [
      { const: "rm", title: "Tidy up" },
      { const: "ls", title: "Tidy up" },
      { const: "no", title: "Leave it" },
    ];
    const { questions } = await ask({ what: { type: "string", oneOf } }, []);
    expect(questions[0]?.options.map(({ name }) => name)).toEqual([
      'Tidy up ("rm")',
      'Tidy up ("ls")',
      "Leave it",
      "Decline",
    ]);
  });

  it("accepts the plain value of a single field", async () => {
    expect(
      (await ask({ name: { type: "string" } }, [send("Ada")])).result,
    ).toEqual({
      action: "accept",
      content: { name: "Ada" },
    });
    expect(
      (await ask({ name: { type: "string" } }, [send("42")])).result,
    ).toMatchObject({ content: { name: "42" } });
    expect(
      (await ask({ age: { type: "integer" } }, [send("42")])).result,
    ).toMatchObject({ content: { age: 42 } });
  });

  it.each(["9007199254740993", '{"n":9007199254740993}'])(
    "B6: is never another number than the user's: %s",
    async (text) => {
      const answers = [send(text), send("7")];
      const asked = await ask({ n: { type: "integer" } }, answers);
      expect(asked.shown[1]).toContain("The last answer did not fit");
      expect(asked.result).toEqual({ action: "accept", content: { n: 7 } });
    },
  );

  it("asks again with the reason, and cancels after three invalid answers", async () => {
    const fields: Fields = {
      age: { type: "integer", maximum: 99 },
      name: { type: "string" },
    };
    const again = await ask(fields, [
      send("nonsense"),
      send('{"age": 100}'),
      send('{"age": 99}'),
    ]);
    expect(again.shown[1]).toContain(
      "The last answer did not fit: the answer is not a JSON object",
    );
    expect(again.shown[2]).toContain("The last answer did not fit: ");
    expect(again.result).toEqual({ action: "accept", content: { age: 99 } });
    expect(
      (await ask(fields, [send("a"), send("b"), send("c"), send("{}")])).result,
    ).toEqual({ action: "cancel" });
  });

  it("shows which fields are required", async () => {
    const { result, shown } = await ask(
      { name: { type: "string" }, age: { type: "integer" } },
      [send("")],
      ["name"],
    );
    expect(shown[0]).toContain("- name: string, required");
    expect(result).toEqual({ action: "decline" });
  });

  it("completes the answer with defaults", async () => {
    const { result } = await ask(
      { age: { type: "integer", default: 7 }, name: { type: "string" } },
      [send('{"name": "A"}')],
    );
    expect(result).toEqual({
      action: "accept",
      content: { age: 7, name: "A" },
    });
  });

  it("shows the address of a page as a browser reads it, and declines unsafe ones", async () => {
    const open = async (url: string): Promise<readonly [string, string]> => {
      const shown: string[] = [];
      const hooks = {
        progress: () => undefined,
        keepAlive: () => undefined,
        recordTask: () => Promise.resolve(),
        sample: () => Promise.reject(new Error("asks no model")),
        ask: async ({ details }: Question): Promise<Answer> => {
          if (details.case === "genericDetails") {
            shown.push(details.value.description);
          }
          return send("");
        },
      };
      const params = {
        mode: "url" as const,
        message: "Sign in.",
        url,
        elicitationId: "e",
      };
      const { action } = await elicit(
        SERVER,
        { method: "elicitation/create", params },
        { hooks, validator },
        new AbortController().signal,
      );
      return [action, shown.join()];
    };
    expect(await open("https://a.example\\@b.example/\u202e")).toEqual([
      "accept",
      "MCP server s (https://s.example/mcp, named by the client) asks to open https://a.example/@b.example/%E2%80%AE\nSign in.",
    ]);
    for (const url of [
      "javascript:alert(1)",
      "file:///etc/passwd",
      "https://good.example@evil.example/",
      "x",
      "data:,x",
    ]) {
      expect(await open(url), url).toEqual(["decline", ""]);
    }
  });

  it("declines if the user cancels", async () => {
    expect(
      (
        await ask({ name: { type: "string" } }, [
          { optionId: "cancel", text: "Ada" },
        ])
      ).result,
    ).toEqual({
      action: "decline",
    });
  });
});
