import { create } from "@bufbuild/protobuf";
import { createHandlerContext } from "@connectrpc/connect";
import { AuditService } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Operations } from "../operations.ts";
import { observedStream } from "./observed-call.ts";

describe("a stream that is observed", () => {
  it("begins when it is read, so that one which nobody reads is not left open", async () => {
    const heard: string[] = [];
    const operations = new Operations(
      ({ name }) => {
        heard.push(`begins ${name}`);
        return () => heard.push(`ends ${name}`);
      },
      "",
      () => undefined,
    );
    const method = AuditService.method.readAudit;
    const stream = observedStream(
      method,
      async function* () {
        yield create(method.output);
      },
      operations,
    );
    const call = () =>
      stream(
        create(method.input),
        createHandlerContext({
          service: AuditService,
          method,
          protocolName: "connect",
          requestMethod: "POST",
          url: "http://127.0.0.1/",
        }),
      );
    const unread = call();
    expect(heard).toEqual([]);
    expect(await Array.fromAsync(call())).toHaveLength(1);
    expect(heard).toEqual(["begins ReadAudit", "ends ReadAudit"]);
    await unread[Symbol.asyncIterator]().return?.();
    expect(heard).toHaveLength(2);
  });
});
