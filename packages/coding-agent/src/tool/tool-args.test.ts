import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toolArgs } from "./tool-args.ts";

const ARGS = toolArgs({
  path: z.string().describe("The file."),
  limit: z.int().optional().describe("How many."),
  steps: z
    .array(z.object({ text: z.string(), state: z.enum(["open", "done"]) }))
    .optional()
    .describe("The steps."),
});

describe("toolArgs", () => {
  it("describes the arguments in JSON Schema", () => {
    expect(ARGS.jsonSchema).toEqual({
      type: "object",
      properties: {
        path: { type: "string", description: "The file." },
        limit: { type: "integer", description: "How many." },
        steps: {
          type: "array",
          description: "The steps.",
          items: {
            type: "object",
            properties: {
              text: { type: "string" },
              state: { type: "string", enum: ["open", "done"] },
            },
            required: ["text", "state"],
          },
        },
      },
      required: ["path"],
    });
  });

  it("B18: takes null for an optional argument as none, and for no other", () => {
    const steps = [{ text: "a", state: "open" }];
    expect(ARGS.read({ path: "a", limit: null, steps: null })).toEqual({
      path: "a",
    });
    expect(ARGS.read({ path: "a", limit: null, steps })).toEqual({
      path: "a",
      steps,
    });
    expect(() => ARGS.read({ path: null })).toThrow(/path/);
    expect(() => ARGS.read({ path: "a", steps: [null] })).toThrow(/steps/);
  });

  it("removes unknown arguments", () => {
    expect(ARGS.read({ path: "a", limit: 3, other: true })).toEqual({
      path: "a",
      limit: 3,
    });
  });

  it.each([
    { args: {}, says: "path is missing: it must be of type string" },
    { args: { path: null }, says: 'path "null" must be of type string' },
    { args: { path: 5 }, says: 'path "5" must be of type string' },
    {
      args: { path: "a", limit: "9" },
      says: 'limit "\\"9\\"" must be of type integer',
    },
    {
      args: { path: "a", limit: 1.5 },
      says: 'limit "1.5" must be of type integer',
    },
    {
      args: { path: "a", limit: 2 ** 53 },
      says: 'limit "9007199254740992" must be of type integer',
    },
    {
      args: { path: "a", steps: {} },
      says: 'steps "{}" must be of type array',
    },
    {
      args: { path: "a", steps: ["x"] },
      says: 'steps[0] "\\"x\\"" must be of type object',
    },
    {
      args: { path: "a", steps: [{ text: "t" }] },
      says: "steps[0].state is missing: it must be of type string",
    },
    {
      args: { path: "a", steps: [{ text: "t", state: "new" }] },
      says: 'steps[0].state "new" is not one of the choices: choose open, done',
    },
  ])("that do not fit are named: $says", ({ args, says }) => {
    expect(() => ARGS.read(args)).toThrow(says);
  });
});
