import { createRouterTransport, type Transport } from "@connectrpc/connect";
import { TaskService } from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import { expect, it } from "vitest";
import { createA2aTransport } from "./a2a-transport.ts";

it("calls over one gRPC transport, in whichever trace", async () => {
  const traces: (string | null)[] = [];
  const agent = createRouterTransport(({ service }) =>
    service(A2AService, {
      getTask: ({ id }, { requestHeader }) => {
        traces.push(requestHeader.get("traceparent"));
        return { id, contextId: "c", status: { state: 1 } };
      },
    }),
  );
  const opened: string[] = [];
  const grpc = (url: string): Transport => {
    opened.push(url);
    return agent;
  };
  const transport = createA2aTransport({
    url: "agent.example:443",
    protocolVersion: "1.0",
    protocolBinding: "GRPC",
    grpc,
  });
  const call = (header: Record<string, string>): Promise<unknown> =>
    transport.unary(TaskService.method.getTask, undefined, undefined, header, {
      taskId: "t",
    });
  const trace = (digit: string) =>
    `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
  await call({ traceparent: trace("1") });
  await call({ traceparent: trace("2") });
  await call({});
  expect(traces).toEqual([trace("1"), trace("2"), null]);
  expect(opened).toEqual(["agent.example:443"]);
});
