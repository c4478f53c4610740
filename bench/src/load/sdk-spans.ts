/**
 * The spans of text turns as the command makes them, by the SDK of OpenTelemetry
 * alone. Answers each number of turns with the processor time, in microseconds.
 */
import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";

const require = createRequire(
  new URL("../../../packages/cli/package.json", import.meta.url),
);
const { ROOT_CONTEXT, trace } = require("@opentelemetry/api");
const {
  BatchSpanProcessor,
  TracerProvider,
} = require("@opentelemetry/sdk-trace");
const {
  OTLPTraceExporter,
} = require("@opentelemetry/exporter-trace-otlp-proto");

const [, , url = ""] = process.argv;
const exporter = new OTLPTraceExporter({ url });
const provider = new TracerProvider({
  spanProcessors: [new BatchSpanProcessor({ exporter })],
});
const tracer = provider.getTracer("@devtool/server", "0.1.0");
const ID = "2126dedd-10cc-42f9-b2e6-edd819f3af93";
const COMMON = {
  "gen_ai.conversation.id": ID,
  "session.id": ID,
  "gen_ai.agent.name": "devtool",
  "user.id": "local",
  "devtool.task.id": ID,
};

function turn(): void {
  const begin = (
    name: string,
    kind: number,
    attributes: object,
    above: unknown,
  ) =>
    tracer.startSpan(
      name,
      { kind, links: [], attributes: { ...attributes, ...COMMON } },
      above,
    );
  const request = begin(
    "SendStreamingMessage",
    1,
    {
      "a2a.method.name": "SendStreamingMessage",
      "a2a.protocol.version": "0.3",
      "a2a.message.id": "m12345-678",
      "a2a.task.id": ID,
      "devtool.binding": "a2a-0.3/jsonrpc",
    },
    ROOT_CONTEXT,
  );
  const inRequest = trace.setSpan(ROOT_CONTEXT, request);
  const agent = begin(
    "invoke_agent devtool",
    0,
    { "gen_ai.operation.name": "invoke_agent" },
    inRequest,
  );
  const model = begin(
    "chat scripted",
    2,
    {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "scripted",
    },
    trace.setSpan(inRequest, agent),
  );
  model.setAttributes({
    "gen_ai.response.time_to_first_chunk": 0.001,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 2,
  });
  model.end();
  agent.setAttributes({
    "a2a.task.state": "TASK_STATE_COMPLETED",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 2,
    "devtool.append.count": 3,
    "devtool.append.duration": 0.002,
  });
  agent.end();
  request.setAttributes({ "a2a.task.state": "TASK_STATE_COMPLETED" });
  request.end();
}

process.on("message", async (turns: number) => {
  const before = process.cpuUsage();
  for (let at = 0; at < turns; at++) {
    turn();
    // As between the turns of a client.
    await delay(2);
  }
  await provider.forceFlush();
  const spans = process.cpuUsage(before);
  const between = process.cpuUsage();
  for (let at = 0; at < turns; at++) await delay(2);
  const idle = process.cpuUsage(between);
  process.send?.(spans.user + spans.system - idle.user - idle.system);
});
