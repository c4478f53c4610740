import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, request as send } from "node:http";
import { describe, expect, it } from "vitest";
import { firstOf } from "../auth/authenticator.ts";
import { readBody } from "./body.ts";
import { answerRequest } from "./dispatch.ts";
import type { HttpRequest, HttpResponse } from "./route.ts";

/** What a route does once its client has closed the connection. */
type AfterGone = (
  request: HttpRequest,
  response: HttpResponse,
) => Promise<unknown>;

/**
 * Closes the connection of a request while a route handles it. Returns the
 * errors that the server reports.
 */
async function errorsAfter(afterGone: AfterGone): Promise<unknown[]> {
  const errors: unknown[] = [];
  const handled = Promise.withResolvers<void>();
  const authenticator = firstOf([]);
  const route = {
    name: "test",
    access: "public" as const,
    matches: () => true,
    handle: async (request: HttpRequest, response: HttpResponse) => {
      client.destroy();
      // `once` would reject for the error that ends the connection.
      await new Promise((resolve) => request.socket.once("close", resolve));
      await afterGone(request, response);
    },
  };
  const dispatch = {
    routes: [route],
    guard: {
      authenticator,
      hosts: new Set(["127.0.0.1"]),
      origins: new Set<string>(),
    },
    beginCheck: () => ({
      admit: () => undefined,
      [Symbol.dispose]: () => undefined,
    }),
    isStopping: () => false,
    onError: (reason: unknown) => errors.push(reason),
  };
  const server = createServer((request, response) => {
    void answerRequest(request, response, dispatch).finally(handled.resolve);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const client = send({
    port,
    host: "127.0.0.1",
    method: "POST",
    headers: { "content-length": "100" },
  });
  client.on("error", () => undefined).write("{");
  await handled.promise;
  server.close();
  return errors;
}

describe("a client that left while its request was handled", () => {
  it("is not reported: the rest of the request cannot be read", async () => {
    expect(await errorsAfter((request) => readBody(request, 1000))).toEqual([]);
  });

  it("is not reported: the connection ended with that error", async () => {
    const afterGone: AfterGone = async (request) => {
      throw new Error("cannot answer", {
        cause: request.errored ?? request.socket.errored,
      });
    };
    expect(await errorsAfter(afterGone)).toEqual([]);
  });

  it("hides no fault of a file in the same moment", async () => {
    expect(await errorsAfter(() => readFile("/does/not/exist"))).toMatchObject([
      { code: "ENOENT" },
    ]);
  });

  it.each([
    "ENOSPC",
    "EIO",
    "EACCES",
    "ECONNRESET",
    "EPIPE",
    "ERR_INVALID_ARG_TYPE",
    "SQLITE_FULL",
  ])(
    "hides no %s of a disk, a child process or another connection",
    async (code) => {
      const fault = Object.assign(new Error("failed"), {
        code,
        syscall: "write",
      });
      expect(await errorsAfter(() => Promise.reject(fault))).toEqual([fault]);
      const wrapped = new Error("cannot store", { cause: fault });
      expect(await errorsAfter(() => Promise.reject(wrapped))).toEqual([
        wrapped,
      ]);
    },
  );

  it("hides no fault of the server's own code", async () => {
    expect(
      await errorsAfter(() => Promise.reject(new TypeError("x is undefined"))),
    ).toHaveLength(1);
  });
});
