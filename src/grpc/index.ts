export { clientInterceptor } from './client-interceptor.ts';
export { type CallRun, runOf, serverInterceptor, type ServerInterceptorOptions } from './server-interceptor.ts';
