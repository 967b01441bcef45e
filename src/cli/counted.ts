export { counted } from '../operator/words.ts';
