import { create } from "@bufbuild/protobuf";
import {
  type PushConfig,
  PushFormat,
  PushProgressSchema,
  PushSubscriptionSchema,
} from "@devtool/schema";
import { invalid, withFieldNames } from "../errors.ts";
import type { OutboundPolicy } from "../outbound/outbound-policy.ts";
import type { PushConfigStore } from "../store/push-config-store.ts";
import { HIDDEN } from "./hide-push-secrets.ts";
import { isStandardWebhooks, webhookSecret } from "./post-headers.ts";
import { isSameFormat, type PushEncodings } from "./push-format.ts";
import type { PushNotifier } from "./push-notifier.ts";
import { checkPushTarget } from "./push-target.ts";

/** The maximum length in characters of an id, a token and credentials. */
const MAX_LENGTH = 4096;

interface PushRegistrarOptions {
  readonly configs: PushConfigStore;
  /**
   * Starts, replaces or ends the delivery of a config that was stored or
   * deleted.
   */
  readonly notifier: Pick<PushNotifier, "changed">;
  readonly encodings: PushEncodings;
  readonly policy: OutboundPolicy;
  readonly nextId: () => string;
}

/** The task and the position in its log from which a config posts. */
export interface PushStart {
  readonly taskId: string;
  readonly principal: string;
  /** The sequence of the last event that is not posted. */
  readonly after: bigint;
}

/**
 * Registers push configs: checks them, stores them and starts their delivery.
 */
export class PushRegistrar {
  readonly #options: PushRegistrarOptions;

  constructor(options: PushRegistrarOptions) {
    this.#options = options;
  }

  /**
   * Returns a config with its format filled in, ready for `put`. Throws
   * `Code.InvalidArgument` for an invalid one; `path` is the field of the
   * request that holds the config.
   */
  async check(
    config: PushConfig,
    path: "config" | "push_config",
    signal: AbortSignal,
  ): Promise<PushConfig> {
    const format = config.format || PushFormat.TASK_EVENT;
    if (!this.#options.encodings.has(format)) {
      throw invalid(
        `${path}.format`,
        String(format),
        "is not posted by this server",
        "choose another",
      );
    }
    assertLength(`${path}.id`, config.id);
    assertSecret(`${path}.token`, config.token);
    if (config.authentication) {
      const { scheme, credentials } = config.authentication;
      if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(scheme)) {
        const remedy = "for instance, Bearer or Basic";
        throw invalid(
          `${path}.authentication.scheme`,
          scheme,
          "is not the name of a scheme",
          remedy,
        );
      }
      const field = `${path}.authentication.credentials`;
      assertSecret(field, credentials);
      if (
        isStandardWebhooks(config.authentication) &&
        webhookSecret(config.authentication).length < 16
      ) {
        throw invalid(
          field,
          "",
          "must hold a secret of at least 16 bytes in base64",
        );
      }
    }
    try {
      await checkPushTarget(config.url, this.#options.policy, signal);
    } catch (reason) {
      throw withFieldNames(reason, { url: `${path}.url` });
    }
    return { ...config, format, endedReason: "" };
  }

  /** Stores a checked config for a task, and returns it as stored. */
  async put(
    checked: PushConfig,
    { taskId, principal, after }: PushStart,
  ): Promise<PushConfig> {
    const { configs, notifier, nextId } = this.#options;
    // Without an id, it replaces the config with the same URL and format, so
    // that a repeated request creates no second one.
    const replaced =
      checked.id === ""
        ? (await this.list(taskId)).find(
            ({ url, format }) =>
              url === checked.url && isSameFormat(format, checked.format),
          )
        : undefined;
    const config = {
      ...checked,
      taskId,
      id: checked.id || (replaced?.id ?? nextId()),
    };
    const progress = create(PushProgressSchema, { cursor: after });
    await configs.put(
      create(PushSubscriptionSchema, { config, principal, progress }),
    );
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

  /** Deletes a config. Once it resolves, nothing is posted for it any more. */
  async delete(taskId: string, configId: string): Promise<void> {
    await this.#options.configs.delete({ taskId, configId });
    await this.#options.notifier.changed({ taskId, configId });
  }
}

/**
 * Requires a secret that fits in one HTTP header, and not the word that stands
 * for one in answers: a config that was read and set again would lose its own.
 * The error does not quote a secret.
 */
function assertSecret(field: string, value: string): void {
  if (value === HIDDEN) {
    const remedy = "answers hide it: give the secret itself";
    throw invalid(field, value, "is not the secret", remedy);
  }
  if (/[^\x20-\x7e]/.test(value)) {
    throw invalid(field, "", "must hold printable ASCII characters only");
  }
  assertLength(field, value);
}

function assertLength(field: string, value: string): void {
  if (value.length > MAX_LENGTH) {
    throw invalid(
      field,
      "",
      `has ${value.length} characters: limit is ${MAX_LENGTH}`,
    );
  }
}
