import { expect, it } from "vitest";
import { caseV03 } from "./case-v03.ts";

it("writes a case of A2A 1.0 in the names of 0.3", () => {
  const written = caseV03({
    id: "a/case",
    steps: [
      {
        method: "SendStreamingMessage",
        params: {
          message: {
            role: "ROLE_USER",
            parts: [{ text: "ROLE_USER" }, { data: { text: "hi" } }],
          },
          configuration: { historyLength: 1, returnImmediately: true },
        },
        headers: { "a2a-version": "1.0", "a2a-extensions": "uri" },
        capture: { task: "statusUpdate.taskId", text: "status.message" },
        expect: {
          frames: [{ statusUpdate: { status: { message: "<any>" } } }],
          noFrames: [{ artifactUpdate: "<any>" }],
          firstFrame: {
            task: { status: { state: "<one:TASK_STATE_AUTH_REQUIRED|a>" } },
          },
        },
      },
      {
        method: "CancelTask",
        expect: {
          result: { id: "a", metadata: { word: "TASK_STATE_WORKING" } },
          errorData: { "<contains>": [{ fieldViolations: [{ field: "id" }] }] },
        },
      },
    ],
  });
  expect(written).toEqual({
    id: "a/case",
    steps: [
      {
        method: "message/stream",
        params: {
          message: {
            kind: "message",
            role: "user",
            parts: [
              { kind: "text", text: "ROLE_USER" },
              { kind: "data", data: { text: "hi" } },
            ],
          },
          configuration: { historyLength: 1, blocking: false },
        },
        headers: { "x-a2a-extensions": "uri" },
        capture: { task: "taskId", text: "status.message" },
        expect: {
          frames: [{ kind: "status-update", status: { message: "<any>" } }],
          noFrames: [{ kind: "artifact-update" }],
          firstFrame: {
            kind: "task",
            status: { state: "<one:auth-required|a>" },
          },
        },
      },
      {
        method: "tasks/cancel",
        expect: {
          result: {
            kind: "task",
            id: "a",
            metadata: { word: "TASK_STATE_WORKING" },
          },
          errorData: { field: "id" },
        },
      },
    ],
  });
});
