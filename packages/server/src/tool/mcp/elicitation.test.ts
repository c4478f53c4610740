import type { ElicitRequestFormParams } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import type { Answer, Question } from "../tool.ts";
import { elicit } from "./elicitation.ts";
import { createSafeValidator } from "./safe-validator.ts";

type Fields = ElicitRequestFormParams["requestedSchema"]["properties"];

describe("what a server asks", async () => {
  const validator = await createSafeValidator();

  /** Asks with a form, answers in turn; gives the result and what was shown. */
  async function ask(properties: Fields, answers: readonly Answer[], required: string[] = []) {
    const questions: Question[] = [];
    const hooks = {
      progress: () => undefined,
      ask: async (question: Question): Promise<Answer> => {
        questions.push(question);
        return answers[questions.length - 1] ?? { optionId: "cancel", text: "" };
      },
    };
    const requestedSchema = { type: "object" as const, properties, required };
    const params = { mode: "form" as const, message: "Who are you?", requestedSchema };
    const result = await elicit("s", { method: "elicitation/create", params }, { hooks, validator });
    const shown = questions.map(({ details }) => (details.case === "genericDetails" ? details.value.description : ""));
    return { result, questions, shown };
  }
  const send = (text: string): Answer => ({ optionId: "proceed_once", text });

  it("is a question of yes or no when it has no fields", async () => {
    const { result, questions } = await ask({}, [send("")]);
    expect(result).toEqual({ action: "accept", content: {} });
    expect(questions[0]?.options.map(({ id }) => id)).toEqual(["proceed_once", "cancel"]);
  });

  it("is a choice when its only field is one", async () => {
    const { result, questions } = await ask({ sure: { type: "boolean" } }, [{ optionId: "value:false", text: "" }]);
    expect(result).toEqual({ action: "accept", content: { sure: false } });
    expect(questions[0]?.options.map(({ name }) => name)).toEqual(["Yes", "No", "Decline"]);
  });

  it("takes the plain value of an only field", async () => {
    expect((await ask({ name: { type: "string" } }, [send("Ada")])).result).toEqual({
      action: "accept",
      content: { name: "Ada" },
    });
    expect((await ask({ name: { type: "string" } }, [send("42")])).result).toMatchObject({ content: { name: "42" } });
    expect((await ask({ age: { type: "integer" } }, [send("42")])).result).toMatchObject({ content: { age: 42 } });
  });

  it("asks again, with the reason, and takes it for given up after three wrong answers", async () => {
    const fields: Fields = { age: { type: "integer", maximum: 99 }, name: { type: "string" } };
    const again = await ask(fields, [send("nonsense"), send('{"age": 100}'), send('{"age": 99}')]);
    expect(again.shown[1]).toContain("The last answer did not fit: the answer is no JSON object");
    expect(again.shown[2]).toContain("The last answer did not fit: ");
    expect(again.result).toEqual({ action: "accept", content: { age: 99 } });
    expect((await ask(fields, [send("a"), send("b"), send("c"), send("{}")])).result).toEqual({ action: "cancel" });
  });

  it("misses what is required", async () => {
    const { result, shown } = await ask({ name: { type: "string" }, age: { type: "integer" } }, [send("")], ["name"]);
    expect(shown[0]).toContain("- name: string, required");
    expect(result).toEqual({ action: "decline" });
  });

  it("takes defaults for what was left out", async () => {
    const { result } = await ask({ age: { type: "integer", default: 7 }, name: { type: "string" } }, [
      send('{"name": "A"}'),
    ]);
    expect(result).toEqual({ action: "accept", content: { age: 7, name: "A" } });
  });

  it("is declined by cancel", async () => {
    expect((await ask({ name: { type: "string" } }, [{ optionId: "cancel", text: "Ada" }])).result).toEqual({
      action: "decline",
    });
  });
});
