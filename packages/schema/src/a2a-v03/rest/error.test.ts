import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { JsonRpcErrorSchema } from "../../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { JsonRpcCode } from "../json-rpc.ts";
import { errorFromRest, errorToRest } from "./error.ts";

const { TASK_NOT_FOUND, TASK_NOT_CANCELABLE, INVALID_PARAMS } = JsonRpcCode;

describe("an error in the HTTP+JSON binding of A2A 0.3", () => {
  it("is written as in JSON-RPC, with its name, and read as it was written", () => {
    const data = fromJson(ValueSchema, { field: "id" });
    const error = create(JsonRpcErrorSchema, {
      code: TASK_NOT_FOUND,
      message: "no",
      data,
    });
    const body = errorToRest(error);
    expect(body).toEqual({
      code: TASK_NOT_FOUND,
      message: "no",
      type: "TaskNotFoundError",
      data: { field: "id" },
    });
    expect(errorFromRest(body, 404)).toEqual(error);
  });

  it.each<[string, JsonValue, number, number | undefined]>([
    [
      "the code before the status",
      { code: TASK_NOT_CANCELABLE, message: "no" },
      404,
      TASK_NOT_CANCELABLE,
    ],
    [
      "the code in an envelope",
      { error: { code: INVALID_PARAMS, message: "no" } },
      400,
      INVALID_PARAMS,
    ],
    [
      "the name",
      { type: "TaskNotFoundError", message: "no" },
      500,
      TASK_NOT_FOUND,
    ],
    [
      "the name of a class",
      { error: "io.a2a.spec.TaskNotCancelableError", message: "no" },
      500,
      TASK_NOT_CANCELABLE,
    ],
    ["the status", { message: "no" }, 404, TASK_NOT_FOUND],
    ["the status", { message: "no", code: 409 }, 409, TASK_NOT_CANCELABLE],
    [
      "a name that nobody has",
      { type: "constructor", message: "no" },
      200,
      undefined,
    ],
    [
      "a message that is none of an error",
      { message: { role: "ROLE_AGENT" } },
      200,
      undefined,
    ],
    ["no message", { detail: "Not Found" }, 404, undefined],
    [
      "what a gateway says of itself",
      { message: "bad gateway" },
      502,
      undefined,
    ],
    ["no object", ["no"], 404, undefined],
  ])("is recognized by %s: %j with %i", (_what, body, status, code) => {
    expect(errorFromRest(body, status)?.code).toBe(code);
  });
});
