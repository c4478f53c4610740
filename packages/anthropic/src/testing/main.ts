#!/usr/bin/env node
/**
 * Serves a fake of Anthropic's API until it is terminated:
 * `fake-anthropic [--port N] [--latency MS] [--chunk-delay MS]`.
 */
import { runFake } from "@devtool/fake-model";
import { startFakeAnthropic } from "./fake-anthropic.ts";

await runFake("fake-anthropic", startFakeAnthropic);
