import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { SessionService } from "@devtool/schema/codex";
import type { OtherServices } from "./options.ts";
import { registerReflection } from "./reflection.ts";
import { STRICT } from "./services.ts";

/**
 * Registers the services of other clients than ours, and the reflection of all.
 *
 * @param own the descriptions of our own services
 */
export function registerOtherServices(
  router: ConnectRouter,
  own: readonly DescService[],
  { a2a, queue, sessions }: OtherServices,
): void {
  router.service(SessionService, sessions, STRICT);
  router.service(A2AService, a2a);
  router.service(MessageQueueService, queue);
  registerReflection(router, [
    ...own,
    SessionService,
    A2AService,
    MessageQueueService,
  ]);
}
