export { virtualTime, type VirtualTime } from './virtual-time.ts';
