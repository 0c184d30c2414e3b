import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { All, Controller, Get, Post, Version } from '@nestjs/common';
import { routeId } from '../../lib/nest/route-id.js';

/** The id of `list` in a controller that is always called the same. */
function idOf(controller: ClassDecorator, ...method: MethodDecorator[]): string {
  class Items {
    list(): void {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Items.prototype, 'list')!;
  for (const decorate of method) decorate(Items.prototype, 'list', descriptor);
  controller(Items);
  return routeId(Items as Type, descriptor.value as Function);
}

describe('the id of a route', () => {
  it('is the same in every process', () => {
    expect(idOf(Controller('items'), Get(':id'))).toBe('Items.list+0+++items+%3Aid');
  });

  it('differs in whatever tells routes apart', () => {
    const ids = [
      idOf(Controller('items'), Get()),
      idOf(Controller('things'), Get()),
      idOf(Controller(['items', 'things']), Get()),
      idOf(Controller('items'), Get('all')),
      idOf(Controller('items'), Get(['all', 'any'])),
      idOf(Controller('items'), Post()),
      idOf(Controller('items'), All()),
      idOf(Controller({ path: 'items', host: 'a.example' }), Get()),
      idOf(Controller({ path: 'items', host: 'b.example' }), Get()),
      idOf(Controller({ path: 'items', version: '1' }), Get()),
      idOf(Controller({ path: 'items', version: '2' }), Get()),
      idOf(Controller({ path: 'items', version: ['1', '2'] }), Get()),
      idOf(Controller('items'), Get(), Version('3')),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('follows the version of the method before that of its class', () => {
    const versioned = Controller({ path: 'items', version: '1' });
    expect(idOf(versioned, Get(), Version('2'))).toBe(
      idOf(Controller({ path: 'items', version: '2' }), Get()),
    );
  });

  it('tells the parts of a path from those of another', () => {
    expect(idOf(Controller('a/b'), Get('c'))).not.toBe(idOf(Controller('a'), Get('b/c')));
    expect(idOf(Controller('a+b'), Get('c'))).not.toBe(idOf(Controller('a'), Get('b+c')));
  });

  it('has none of the marks that separate the parts of a key', () => {
    expect(idOf(Controller('users/:user'), Get('items/:id'))).not.toContain(':');
  });

  it('is told from a handler of another name', () => {
    class Items {
      list(): void {}
      find(): void {}
    }
    const { list, find } = Items.prototype as unknown as Record<'list' | 'find', Function>;
    expect(routeId(Items, list)).not.toBe(routeId(Items, find));
  });
});
