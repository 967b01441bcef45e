import { OptionCheck } from '../kernel/check-options.ts';

/** What is used of `holdfast({ … })`. */
export interface Startable<Options> {
  start(options?: Options): Promise<{ stop(): Promise<unknown> }>;
}

/** A `DynamicModule` of Nest. */
export interface HoldfastModule {
  readonly module: new () => object;
  readonly global: true;
  readonly providers: { readonly provide: symbol; readonly useValue: unknown }[];
  readonly exports: symbol[];
}

/** Injects the service: `constructor(@Inject(HOLDFAST) private readonly hf: Holdfast<PoolClient>) {}`. */
export const HOLDFAST: symbol = Symbol('HOLDFAST');

/**
 * A module that runs handlers as long as the application runs: `imports: [holdfastModule(hf)]`. It starts when all modules are there
 * (`onApplicationBootstrap`), so that providers may call `hf.on` in their constructors or in `onModuleInit`, and stops first of all
 * (`onModuleDestroy`): close pools in `onApplicationShutdown`. Signals stop an application only after `app.enableShutdownHooks()`.
 * `options` are those of `hf.start`.
 */
export function holdfastModule<Options>(service: Startable<Options>, options?: Options): HoldfastModule {
  const check = new OptionCheck('holdfastModule()');
  if (typeof service?.start !== 'function')
    check.refuse('the first argument', service, 'pass what holdfast({ service, store }) gave');
  check.done();
  let starting: ReturnType<Startable<Options>['start']> | undefined;
  class HoldfastLifecycle {
    async onApplicationBootstrap(): Promise<void> {
      await (starting ??= service.start(options));
    }

    async onModuleDestroy(): Promise<void> {
      const running = await starting?.catch(() => undefined);
      starting = undefined;
      await running?.stop();
    }
  }
  return {
    module: HoldfastLifecycle,
    global: true,
    providers: [{ provide: HOLDFAST, useValue: service }],
    exports: [HOLDFAST],
  };
}
