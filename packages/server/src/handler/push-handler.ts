import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { type PushConfig, PushConfigSchema, type PushService } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "../errors.ts";
import type { PushEncoding } from "../push/push-format.ts";
import type { PushRegistrar } from "../push/push-registrar.ts";
import { principalOf } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";
import { shownEvent } from "./shown-settings.ts";

/** What a client may do with the push configs of its tasks (PUSH-1); refuses everything without a registrar. */
export function createPushHandler(exchanges?: Exchanges, registrarOf?: RegistrarOf): ServiceImpl<typeof PushService> {
  return exchanges && registrarOf ? pushService(exchanges, registrarOf) : refusingService();
}

/** Gives what takes push configs, which is opened by the first who has one. */
export type RegistrarOf = () => Promise<PushRegistrar>;

function pushService(exchanges: Exchanges, registrarOf: RegistrarOf): ServiceImpl<typeof PushService> {
  return {
    async setPushConfig({ config = create(PushConfigSchema) }, context) {
      const session = await taskOf(exchanges, config.taskId, context);
      const registrar = await registrarOf();
      const checked = await registrar.check(config, context.signal);
      const { id: taskId, principal, sequence } = session.task;
      return { config: await registrar.put(checked, { taskId, principal, after: sequence }) };
    },
    async getPushConfig({ taskId, configId }, context) {
      await taskOf(exchanges, taskId, context);
      const configs = await (await registrarOf()).list(taskId);
      return { config: configs.find(({ id }) => configId === "" || id === configId) ?? missing(taskId, configId) };
    },
    async listPushConfigs({ taskId }, context) {
      await taskOf(exchanges, taskId, context);
      return { configs: [...(await (await registrarOf()).list(taskId))] };
    },
    async deletePushConfig({ taskId, configId }, context) {
      await taskOf(exchanges, taskId, context);
      if (configId === "") throw invalid("config_id", "", "is missing: name the config to delete");
      await (await registrarOf()).delete(taskId, configId);
      return {};
    },
  };
}

function taskOf(exchanges: Exchanges, taskId: string, context: HandlerContext): ReturnType<Exchanges["find"]> {
  return exchanges.find(taskId, principalOf(context));
}

function missing(taskId: string, configId: string): PushConfig {
  throw new DevtoolError(
    `push config ${JSON.stringify(configId)} of task ${JSON.stringify(taskId)} does not exist: list those there are`,
    Code.NotFound,
    { details: { field: "config_id", value: configId } },
  );
}

function refusingService(): ServiceImpl<typeof PushService> {
  const refuse = (): never => {
    throw pushNotSupported();
  };
  return { setPushConfig: refuse, getPushConfig: refuse, listPushConfigs: refuse, deletePushConfig: refuse };
}

/** The error of a server that posts nothing. */
export function pushNotSupported(): DevtoolError {
  return new DevtoolError("push notifications are not supported: subscribe to the task instead", Code.Unimplemented);
}

/** An encoding that posts events as clients may see them: without the secrets of a session's MCP servers (S12). */
export function shownEncoding(encoding: PushEncoding): PushEncoding {
  return { ...encoding, encode: (event) => encoding.encode(shownEvent(event)) };
}
