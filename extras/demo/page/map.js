// @ts-check
// The street map on the client's screen. Figures have the same map (analysis/figures/street_map.py).
//
// Points are parts of the map's width and height, from its upper left corner. Those of the pin are multiples of its size,
// from its middle.

/** @typedef {readonly (readonly number[])[]} Points */

/** @type {Points} */
export const SHORE = [[0, 0.62], [0.134, 0.586], [0.256, 0.578], [0.366, 0.598], [0.464, 0.646], [0.55, 0.72], [0.632, 0.794], [0.718, 0.838], [0.808, 0.854], [0.902, 0.842], [1, 0.8]];
/** @type {Points} */
export const PARK = [[0.6, 0.1], [0.88, 0.1], [0.88, 0.3], [0.6, 0.3]];
/** @type {readonly Points[]} */
export const ROADS = [[[0, 0.2], [1, 0.42]], [[0.3, 0], [0.42, 1]], [[0.75, 0.35], [0.75, 1]], [[0, 0.5], [0.75, 0.6]]];
/** @type {Points} */
export const PIN = [[0, 1], [-0.56, 0.39], [-0.87, -0.15], [-0.99, -0.61], [-0.92, -0.99], [-0.72, -1.27], [-0.4, -1.44], [0, -1.5], [0.4, -1.44], [0.72, -1.27], [0.92, -0.99], [0.99, -0.61], [0.87, -0.15], [0.56, 0.39]];
/** The pin's size, as a part of the map's width or height, whichever is less. */
export const PIN_SIZE = 1 / 7;
