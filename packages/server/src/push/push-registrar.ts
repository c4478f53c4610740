import { create } from "@bufbuild/protobuf";
import {
  type PushAuthentication,
  type PushConfig,
  PushFormat,
  PushProgressSchema,
  PushSubscriptionSchema,
} from "@devtool/schema";
import { invalid, withFieldNames } from "../errors.ts";
import type { OutboundPolicy } from "../outbound/outbound-policy.ts";
import type { PushConfigStore } from "../store/push-config-store.ts";
import { isStandardWebhooks, webhookSecret } from "./post-headers.ts";
import { isSameFormat, type PushEncodings } from "./push-format.ts";
import type { PushNotifier } from "./push-notifier.ts";
import { checkPushTarget } from "./push-target.ts";

/** An id, a token and credentials may have so many characters each. */
const MAX_LENGTH = 4096;

/** What a registrar needs. */
export interface PushRegistrarOptions {
  readonly configs: PushConfigStore;
  readonly notifier: PushNotifier;
  readonly encodings: PushEncodings;
  readonly policy: OutboundPolicy;
  readonly nextId: () => string;
}

/** Where a config starts: whose it is, and the last event that it is not told of. */
export interface PushStart {
  readonly taskId: string;
  readonly principal: string;
  readonly after: bigint;
}

/** Takes push configs: checks them before anything else happens, stores them, and sets their delivery going. */
export class PushRegistrar {
  readonly #options: PushRegistrarOptions;

  constructor(options: PushRegistrarOptions) {
    this.#options = options;
  }

  /**
   * Checks a config, and fills in its format. Throws `Code.InvalidArgument` for one that cannot be used, with the field in
   * it at `path`, which is where the request has the config.
   */
  async check(config: PushConfig, path: "config" | "push_config", signal: AbortSignal): Promise<PushConfig> {
    const format = config.format || PushFormat.TASK_EVENT;
    if (!this.#options.encodings.has(format)) {
      throw invalid(`${path}.format`, String(format), "is not posted by this server", "choose another");
    }
    assertWords(`${path}.id`, config.id);
    assertHeader(`${path}.token`, config.token);
    if (config.authentication) assertAuthentication(config.authentication, `${path}.authentication`);
    try {
      await checkPushTarget(config.url, this.#options.policy, signal);
    } catch (reason) {
      throw withFieldNames(reason, { url: `${path}.url` });
    }
    return { ...config, format, endedReason: "" };
  }

  /** Stores a checked config for a task, and gives it as stored. */
  async put(checked: PushConfig, { taskId, principal, after }: PushStart): Promise<PushConfig> {
    const { configs, notifier } = this.#options;
    const config = { ...checked, taskId, id: checked.id || (await this.#idFor(checked, taskId)) };
    const progress = create(PushProgressSchema, { cursor: after });
    await configs.put(create(PushSubscriptionSchema, { config, principal, progress }));
    await notifier.changed({ taskId, configId: config.id });
    return config;
  }

  /** Lists the configs of a task. */
  async list(taskId: string): Promise<readonly PushConfig[]> {
    const subscriptions = await this.#options.configs.list(taskId);
    return subscriptions.flatMap(({ config, progress }) =>
      config ? [{ ...config, endedReason: progress?.endedReason ?? "" }] : [],
    );
  }

  /** Deletes a config. When it resolves, nothing is posted there any more. */
  async delete(taskId: string, configId: string): Promise<void> {
    await this.#options.configs.delete({ taskId, configId });
    await this.#options.notifier.changed({ taskId, configId });
  }

  /** A config without an id is the one that posts the same to the same place, so that a retry makes no second one. */
  async #idFor({ url, format }: PushConfig, taskId: string): Promise<string> {
    const configs = await this.list(taskId);
    return (
      configs.find((config) => config.url === url && isSameFormat(config.format, format))?.id ?? this.#options.nextId()
    );
  }
}

function assertAuthentication(authentication: PushAuthentication, path: string): void {
  const { scheme, credentials } = authentication;
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(scheme)) {
    throw invalid(`${path}.scheme`, scheme, "is not the name of a scheme", "for instance, Bearer or Basic");
  }
  assertHeader(`${path}.credentials`, credentials);
  if (isStandardWebhooks(authentication) && webhookSecret(authentication).length < 16) {
    throw invalid(`${path}.credentials`, "", "must hold a secret of at least 16 bytes in base64");
  }
}

/** A value of a header: what would end it could begin another. The value itself is a secret, and not told again. */
function assertHeader(field: string, value: string): void {
  if (/[^\x20-\x7e]/.test(value)) throw invalid(field, "", "must hold printable ASCII characters only");
  assertWords(field, value);
}

function assertWords(field: string, value: string): void {
  if (value.length > MAX_LENGTH) {
    throw invalid(field, "", `has ${value.length} characters: limit is ${MAX_LENGTH}`);
  }
}
