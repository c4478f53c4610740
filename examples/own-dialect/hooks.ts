/**
 * A dialect for webhooks: what another program posts is a task for the agent.
 *
 *     POST /hooks/<source>         the task, in the background: 202 {"task": id}
 *     GET /hooks/<source>/<task>   what the agent says, as server-sent events
 */
import { create } from "@bufbuild/protobuf";
import {
  Role,
  SendMessageRequestSchema,
  type TaskEvent,
} from "@devtool/schema";
import {
  assertJson,
  type Dialect,
  type DialectServices,
  eventsUntilRest,
  type Frame,
  forEachAgent,
  HttpFailure,
  oncePerEvent,
  type RoutedCall,
  readBody,
  route,
  send,
  streamFrames,
} from "@devtool/server/dialect";

export function hooks(): Dialect {
  return (services) =>
    forEachAgent(services, (own) => [
      route(own, "POST", /^\/hooks\/([\w-]+)$/, (call) => begin(own, call)),
      route(own, "GET", /^\/hooks\/[\w-]+\/([\w-]+)$/, (call) =>
        follow(own, call),
      ),
    ]);
}

async function begin(
  { handler, maxRequestBytes }: DialectServices,
  { request, response, groups, context }: RoutedCall,
): Promise<void> {
  assertJson(request);
  const delivery = context.requestHeader.get("x-delivery") ?? "";
  if (delivery === "") throw new HttpFailure("x-delivery: is missing", 400);
  const [source = ""] = groups;
  const text = `${source}: ${await readBody(request, maxRequestBytes)}`;
  // A delivery that is sent again is the same message, and no second task.
  const message = {
    ...{ messageId: `${source}-${delivery}`, role: Role.USER },
    parts: [{ content: { case: "text" as const, value: text } }],
  };
  const { task } = await handler.tasks.sendMessage(
    create(SendMessageRequestSchema, { message, returnImmediately: true }),
    context,
  );
  send(response, 202, { body: JSON.stringify({ task: task?.id }) });
}

const frameOf = oncePerEvent(({ payload, sequence }: TaskEvent): Frame[] => {
  if (payload.case !== "text") return [];
  return [{ result: JSON.stringify(payload.value.text), id: sequence }];
});

async function follow(
  services: DialectServices,
  { response, groups, context }: RoutedCall,
): Promise<void> {
  const [task = ""] = groups;
  const frames = async function* (): AsyncIterable<Frame> {
    const events = eventsUntilRest(services.handler, { context }, task);
    for await (const event of events) yield* frameOf(event);
  };
  await streamFrames(response, frames(), () => ({}), {
    endpoint: services,
    wrap: (result) => result,
    error: (reason) => JSON.stringify(String(reason)),
  });
}
