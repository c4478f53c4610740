import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { bearerInterceptor } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { ServerReflection } from "@devtool/schema/reflection";
import { ServerReflectionRequestSchema } from "@devtool/schema/testing";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);

describe("server reflection", () => {
  it("lets buf curl list and call our services over gRPC without our protos", async () => {
    await using server = await serveCodingAgent({ workspace: process.cwd() });
    const authorization = `authorization: Bearer ${server.token}`;
    const curl = async (...args: readonly string[]): Promise<string> => {
      const common = [
        "curl",
        "--http2-prior-knowledge",
        "--protocol",
        "grpc",
        "--reflect-header",
        authorization,
        "-H",
        authorization,
      ];
      return (await run("buf", [...common, ...args])).stdout;
    };
    expect(await curl("--list-methods", server.url)).toContain(
      "devtool.v1alpha.TaskService/StreamMessage",
    );
    const request = JSON.stringify({
      request: { message: { messageId: "m", parts: [{ text: "text hello" }] } },
    });
    const answer = await curl(
      "-d",
      request,
      `${server.url}/devtool.v1alpha.TaskService/StreamMessage`,
    );
    expect(answer).toContain('"text": "hello"');
    expect(answer).toContain("TASK_STATE_COMPLETED");
  });

  it.each(["v1", "v1alpha"])(
    "I10: knows the details of errors, over %s",
    async (version) => {
      await using server = await serveCodingAgent({ workspace: process.cwd() });
      const service = {
        ...ServerReflection,
        typeName: `grpc.reflection.${version}.ServerReflection`,
      };
      const { serverReflectionInfo } = createClient(
        service,
        createGrpcTransport({
          baseUrl: server.url,
          interceptors: [bearerInterceptor(server.token)],
        }),
      );
      const value = "google.rpc.ErrorInfo";
      const asked = create(ServerReflectionRequestSchema, {
        messageRequest: { case: "fileContainingSymbol", value },
      });
      const requests = (async function* () {
        yield asked;
      })();
      for await (const { messageResponse } of serverReflectionInfo(requests)) {
        expect(messageResponse.case).toBe("fileDescriptorResponse");
      }
    },
  );
});
